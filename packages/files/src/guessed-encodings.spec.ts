import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { describedBy } from '../../../test/support/described-file.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import type { FilePart } from 'nest-agent-query';
import { FilesHandler } from './index.js';

const GERMAN = 'name,city\nMüller,Köln\nGroß,Düsseldorf\nSchäfer,Zürich\nBäcker,Berlin\n';
const POLISH = 'imię,miasto\nŁukasz,Łódź\nGrażyna,Kraków\nStanisław,Gdańsk\nJoanna,Wrocław\n';
const RUSSIAN = 'город,население\nМосква,12600000\nКазань,1250000\nОмск,1150000\n';
const GREEK = 'πόλη,πληθυσμός\nΑθήνα,664000\nΘεσσαλονίκη,315000\nΠάτρα,168000\n';
const TURKISH =
  'ad,şehir\nAyşe,İstanbul\nÇağlar,Eskişehir\nYıldız,Muğla\nGökçe,Diyarbakır\nŞükrü,Iğdır\nBarış,Kırıkkale\n';
const HEBREW = 'עיר,אוכלוסייה\nירושלים,950000\nחיפה,285000\nתל אביב,460000\n';
const JAPANESE = '都市,説明\n東京,日本で一番大きい町です。\n大阪,食べ物がおいしいです。\n';
const CHINESE = '城市,说明\n北京,今天天气很好\n上海,我们去公园散步\n';
const TAIWANESE = '城市,說明\n臺北,今天天氣很好\n高雄,我們去公園散步\n';
const KOREAN = '도시,설명\n서울,오늘은 날씨가 좋습니다\n부산,공원에 산책하러 갑니다\n';

describe('An encoding that nothing declares', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, ...files: FilePart[]) => answerOf(handler, [...files, request]);

  it.each([
    ['windows-1250', POLISH, '| `Łukasz` | `Łódź` |'],
    ['iso-8859-2', POLISH, '| `Łukasz` | `Łódź` |'],
    ['cp852', POLISH, '| `Łukasz` | `Łódź` |'],
    ['windows-1251', RUSSIAN, '| `Москва` | 12600000 |'],
    ['koi8-r', RUSSIAN, '| `Москва` | 12600000 |'],
    ['cp866', RUSSIAN, '| `Москва` | 12600000 |'],
    ['windows-1253', GREEK, '| `Αθήνα` | 664000 |'],
    ['iso-8859-7', GREEK, '| `Αθήνα` | 664000 |'],
    ['windows-1254', TURKISH, '| `Ayşe` | `İstanbul` |'],
    ['iso-8859-9', TURKISH, '| `Ayşe` | `İstanbul` |'],
    ['windows-1255', HEBREW, '| `חיפה` | 285000 |'],
    ['cp437', GERMAN, '| `Müller` | `Köln` |'],
    ['cp850', GERMAN, '| `Müller` | `Köln` |'],
    ['macroman', GERMAN, '| `Müller` | `Köln` |'],
    ['shift_jis', JAPANESE, '| `東京` | `日本で一番大きい町です。` |'],
    ['euc-jp', JAPANESE, '| `東京` | `日本で一番大きい町です。` |'],
    ['gb18030', CHINESE, '| `北京` | `今天天气很好` |'],
    ['big5', TAIWANESE, '| `臺北` | `今天天氣很好` |'],
    ['euc-kr', KOREAN, '| `서울` | `오늘은 날씨가 좋습니다` |'],
  ])('is guessed for a table, and answers say so: %s', async (encoding, table, row) => {
    const file = filePart('a.csv', iconv.encode(table, encoding));
    const described = await ask('describe', file);
    expect(described).toContain('Encoding: not UTF-8, read as ');
    expect(described).toMatch(
      /is a guess: `encoding [a-z0-9_-]+`, for example, reads it as another encoding\./,
    );
    const selected = await ask('select * from a', file);
    expect(selected).toContain(row);
    expect(selected).toMatch(/^About `a`: That a text is [a-z0-9_-]+ is a guess: `encoding /);
  });

  it.each([
    ['°', 'place,temp\nOslo,4 °C\nRome,20 °C\n'],
    ['µ and ²', 'what,area,size\na,12 m²,5 µm\n'],
    ['€', 'price\n5 €\n'],
    ['quotes', 'It’s “fine” – really…\n'],
    ['a French word', 'Déjà vu\n'],
    ['a Spanish name', 'id,name\n1,Smith\n2,Núñez\n'],
    ['Italian', 'La città è più bella di notte, perché c’è meno traffico.\n'],
    ['Icelandic', 'Það er gott veður í dag og við förum í göngutúr. Þór á heima í Reykjavík.\n'],
  ])('is still windows-1252 for %s', async (_what, text) => {
    const file = filePart('a.txt', iconv.encode(text, 'windows-1252'));
    expect(await ask('text', file)).toContain(text.trim());
    expect(await ask('describe', file)).toContain('Encoding: not UTF-8, read as Windows-1252.');
  });

  it('is guessed for texts, pages, JSON and YAML, whatever is asked', async () => {
    const russian = (text: string) => iconv.encode(text, 'windows-1251');
    const GUESS = 'That a text is windows-1251 is a guess: `encoding ';
    const text = filePart('a.txt', russian('Сегодня хорошая погода, и мы идём гулять в парк.\n'));
    for (const request of ['describe', 'text', 'find погода', 'какая погода?']) {
      const answer = await ask(request, text);
      expect(answer).toMatch(/хорошая погода/);
      expect(answer).toContain(GUESS);
    }
    const page = filePart('a.html', russian('<title>Погода сегодня</title><p>Хорошая погода в Москве'));
    expect(await ask('describe', page)).toMatch(/Title: `Погода сегодня`[^]*That a text is windows-1251/);
    const json = filePart('a.json', russian('[{"город":"Москва"},{"город":"Казань"}]'));
    expect(await ask('describe', json)).toMatch(/That a text is windows-1251[^]*город: string/);
    expect(await ask('select * from a', json)).toMatch(/^About `a`: That a text is windows-1251[^]*`Казань`/);
    expect(await ask('describe', filePart('a.yaml', russian('город: Москва\nстрана: Россия\n')))).toContain(
      'город: string',
    );
  });

  it('is guessed by what comes far from the beginning', async () => {
    const far = iconv.encode(`${'city,n\nOslo,1\n'.repeat(6000)}Москва,2\nКазань,3\n`, 'windows-1251');
    expect(await ask("select * from a where n = '2'", filePart('a.csv', far))).toContain('`Москва`');
    const json = iconv.encode(`[${'{"a":"Oslo"},'.repeat(6000)}{"a":"Москва и Казань"}]`, 'windows-1251');
    expect(await ask("select * from a where a <> 'Oslo'", filePart('a.json', json))).toContain(
      '`Москва и Казань`',
    );
  });

  it('can be overruled, in a compressed file and in an archive too', async () => {
    const koi8 = iconv.encode('город\nМосква\n', 'koi8-r');
    const page = Buffer.from('<meta charset="cp850"><p>M\x81ller', 'latin1');
    expect(await answerOf(handler, [filePart('a.gz', gzipSync(page))])).toContain('<p>Müller');
    const packed = filePart('a.csv.gz', gzipSync(koi8));
    expect(await answerOf(handler, [packed, 'encoding koi8-u', 'select * from a'])).toContain('`Москва`');
    const archive = filePart('a.zip', zipOf([['a.txt', iconv.encode('Łódź', 'cp852')]]));
    expect(await answerOf(handler, [archive, 'encoding cp852', 'entry a.txt'])).toContain('Łódź');
    expect(
      await describedBy(handler, 'a.txt', iconv.encode('Grüße', 'cp850'), 'text/plain; charset=ibm850'),
    ).toContain('Grüße');
  });

  it('is UTF-8 if only few bytes are wrong in it', async () => {
    const text = Buffer.concat([
      Buffer.from('Grüße aus Köln, Düsseldorf, Zürich und '),
      Buffer.from([0xc3, 0x0a]),
    ]);
    const described = await describedBy(handler, 'a.txt', text);
    expect(described).toContain('Grüße aus Köln');
    expect(described).toContain('Encoding: UTF-8. 1 character could not be decoded.');
  });

  it('is ISO-2022-JP if its escape sequences are there', async () => {
    const described = await describedBy(handler, 'a.txt', Buffer.from('1b2442456c357e1b28420a', 'hex'));
    expect(described).toContain('東京');
    expect(described).toContain('Encoding: ISO-2022-JP.');
  });

  it.each([
    ['cp866', 'Документы/Отчёт за год.txt'],
    ['shift_jis', '会議の資料と写真.txt'],
    ['gb18030', '北京天气报告.txt'],
    ['cp850', 'Übersicht der Größen für Köln.txt'],
  ])('of names in a ZIP archive is guessed: %s', async (encoding, name) => {
    const raw = iconv.encode(name, encoding).toString('latin1');
    // The name has no flag that says what it is.
    const ascii = 'x'.repeat(raw.length);
    const archive = zipOf([[ascii, Buffer.from('warm')]])
      .toString('latin1')
      .replaceAll(ascii, raw);
    const file = filePart('a.zip', Buffer.from(archive, 'latin1'));
    const described = await ask('describe', file);
    expect(described).toContain(`\`${name}\``);
    expect(described).toMatch(/That names of entries are [a-z0-9_-]+ is a guess: `encoding /);
    expect(await ask(`entry ${name}`, file)).toContain('warm');
    expect(await answerOf(handler, [file, 'encoding windows-1252', 'outline'])).not.toContain(name);
  });

  it('of names in a ZIP archive is guessed where they are wrongly said to be UTF-8', async () => {
    const name = 'Отчёт за год.txt';
    const ascii = 'x'.repeat(name.length);
    const archive = zipOf([[ascii, Buffer.from('warm')]])
      .toString('latin1')
      .replaceAll(ascii, iconv.encode(name, 'cp866').toString('latin1'))
      .replace('PK\x01\x02\x14\0\x14\0\0\0', 'PK\x01\x02\x14\0\x14\0\0\x08');
    expect(await ask('describe', filePart('a.zip', Buffer.from(archive, 'latin1')))).toContain(`\`${name}\``);
  });
});
