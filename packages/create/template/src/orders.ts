import { Injectable, Module } from '@nestjs/common';

export interface Order {
  number: string;
  city: string;
  status: 'paid' | 'sent' | 'delivered';
}

/** Put your database here. */
@Injectable()
export class Orders {
  readonly #orders: Order[] = [
    { number: '1001', city: 'Oslo', status: 'sent' },
    { number: '1002', city: 'Lima', status: 'paid' },
    { number: '1003', city: 'Accra', status: 'delivered' },
  ];

  /** @returns undefined if there is no such order */
  find(number: string): Order | undefined {
    return this.#orders.find((order) => order.number === number);
  }
}

@Module({ providers: [Orders], exports: [Orders] })
export class OrdersModule {}
