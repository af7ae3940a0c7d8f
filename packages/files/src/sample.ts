const ROWS = `id,date,customer,city,product,amount,paid
1,2026-01-05,Ada,Espoo,lamp,39.90,yes
2,2026-01-09,Grace,Turku,chair,129.00,yes
3,2026-01-17,Linus,Espoo,desk,349.50,no
4,2026-02-02,Ada,Espoo,chair,129.00,yes
5,2026-02-11,Alan,Oulu,lamp,39.90,no
6,2026-02-23,Grace,Turku,desk,349.50,yes
7,2026-03-03,Barbara,Oulu,shelf,89.00,yes
8,2026-03-14,Linus,Espoo,lamp,39.90,yes
9,2026-03-21,Alan,Oulu,desk,349.50,no
10,2026-03-30,Ada,Espoo,shelf,89.00,yes
`;

/** A small table for those who have no file at hand. */
export const SAMPLE = {
  name: 'orders.csv',
  mimeType: 'text/csv',
  base64: Buffer.from(ROWS).toString('base64'),
};
