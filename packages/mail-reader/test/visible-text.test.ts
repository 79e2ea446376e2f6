/** What stays of an answer, and what is cut from it, in the languages and forms of many clients. */

import t from 'tap';
import { MailReader } from '../mail-reader.ts';
import { attributionOf } from '../text/attribution.ts';
import { isDeviceLine } from '../text/device-line.ts';
import { isForward } from '../text/mail-head.ts';
import { omittedText } from '../text/omitted-text.ts';
import { visibleText } from '../text/visible-text.ts';

/** Words of a person, whatever they look like. */
const KEPT: readonly string[] = [
  // Dashes without the blank of RFC 3676 separate parts of a text.
  'A.\n--\nB.',
  'A\n--\nB\n--\nC',
  'First part\n---\nSecond part',
  'Ja.\n—\nUnd noch etwas.',
  // Two fields of three are no head of a mail client, and neither are lists of a person.
  'Please book this:\nFrom: Berlin\nTo: Paris\nDate: 3 May',
  'Book\nFrom: Berlin\nTo: Paris\nDate: 3 May at 10:30\nBy bus',
  'Bitte buchen:\n\nVon: Berlin\nAn: Paris\nDatum: 3. Mai\nBetreff: Reise',
  'À réserver\nDe : Paris\nÀ : Lyon\nDate : 3 mai',
  'Reservar\nDe: Madrid\nPara: Lima\nFecha: 3 de mayo',
  'Da prenotare\nDa: Roma\nA: Milano\nData: 3 maggio',
  'Boeken\nVan: Utrecht\nAan: Gent\nDatum: 3 mei',
  'Забронируйте\nОт: Москва\nКому: Париж\nДата: 3 мая',
  '予約してください\n差出人: 東京\n宛先: 大阪\n日時: 5月3日',
  '请预订\n发件人：北京\n收件人：上海\n日期：5月3日',
  // Nothing stands below it: a form that a person has filled in.
  'Here it is.\n\nFrom: Max <max@x.example>\nDate: 3 May at 10:30\nTo: Paris\nSubject: Holiday',
  // A person shows a mail.
  'Send me this once more:\n\nFrom: shop@shop.example\nSent: Monday, 3 May 2026 10:30\nTo: me@me.example\nSubject: Invoice',
  'The shop told me:\n\nOn 3 May 2026 at 10:30, Ada <ada@shop.example> wrote:\n> No refunds.',
  // Quotes without an attribution.
  'It says:\n> npm start',
  '> npm start\nis what it says.',
  '> npm start\n> npm stop\n\nNeither works.',
  'Das Handbuch von 2026 sagt:\n> npm start',
  'Le manuel (page 12) dit :\n> npm start',
  'El manual de las 10:30 dice:\n> npm start',
  'On page 3 of your 2026 offer you wrote:\n> Free delivery',
  'I spoke to Max, who wrote in 2026:\n> Free delivery',
  'Ada wrote:\n> Free delivery',
  'On 3 May 2026 at 10:30 the page said:\n> Free delivery',
  'On 3 May your colleague wrote:\nThe parcel is lost.\nIt is not!',
  'On 3 May at 10:30 you wrote:\nThe parcel is lost.\nIt is not!',
  // More than the name of a device.
  'Ready.\n\nSent from my warehouse on Monday, parcel 1234.',
  'Ready.\n\nSent from my desk, as always.',
  'Ready.\n\nSent from my iPhone, parcel 1234 is missing',
  'Fertig.\n\nGesendet mit DHL am Montag',
  'Fertig.\n\nGesendet von meinem Lager, Paket 12.',
  'Fait.\n\nEnvoyé de mon entrepôt lundi',
  'Listo.\n\nEnviado desde mi almacén el lunes',
  'Fatto.\n\nInviato da Roma',
  'Klaar.\n\nVerzonden met de post',
  'Klart.\n\nSkickat från lagret',
  'Gotowe.\n\nWysłane z magazynu',
  'Готово.\n\nОтправлено со склада в понедельник',
  '済み。\n\n倉庫から送信',
  '好了。\n\n从仓库发送',
  // Answers between quotes, and quotes of a person above the last one.
  'On 3 May 2026 at 10:30, Ada <ada@shop.example> wrote:\n> When?\n\nTomorrow.\n\n> Where?\n\nAt home.',
  'Hello,\nOn 3 May 2026 at 10:30, Ada <ada@shop.example> wrote:\n> When?\n\nTomorrow.',
  // What is forwarded, up to the signature in it.
  'See below.\n\n---------- Forwarded message ---------\nFrom: Shop <shop@shop.example>\nDate: 3 May 2026 at 10:30\nSubject: Invoice\nTo: <cleo@x.example>\n\nPay.\n-- \nShop\n\nSent from my iPhone',
  'Siehe unten.\n\n-------- Weitergeleitete Nachricht --------\nBetreff: Rechnung\nDatum: 3.5.2026 10:30\nVon: Shop <shop@shop.example>\nAn: cleo@x.example\n\nZahlen.',
  'See below.\n\n> Begin forwarded message:\n>\n> From: Shop <shop@shop.example>\n> Subject: Invoice\n> Date: 3 May 2026 at 10:30\n> To: cleo@x.example\n>\n> Pay.',
];

t.test('words of a person stay', async (t) => {
  for (const text of KEPT) {
    t.equal(visibleText(text), text);
    const below = `Hello.\n\n${text}`;
    t.equal(visibleText(below), below);
  }
});

t.test('a mail of which nothing would be left stays whole', async (t) => {
  const quote = 'On 3 May 2026 at 10:30, Ada <ada@shop.example> wrote:\n> When?';
  for (const text of [quote, '-- \nCleo', 'Sent from my iPhone']) t.equal(visibleText(text), text);
});

/** Attributions of clients; `|` stands where they wrap it. */
const ATTRIBUTIONS: readonly string[] = [
  'On Tue, Nov 3, 2026 at 4:02 PM Ada Moss <ada@shop.example>|wrote:',
  'On Nov 3, 2026, at 16:02, Ada Moss|<ada@shop.example>|wrote:',
  'On Tue, 3 Nov 2026, Ada Moss wrote:',
  'On 03.11.26 16:02, Ada Moss wrote:',
  'At 11/3/2026 04:02 PM, you wrote:',
  'On Tuesday, November 3rd, 2026 at 4:02 PM, Ada <ada@shop.example> wrote:',
  '---- On Tue, 03 Nov 2026 16:02:36 +0100 Ada <ada@shop.example> wrote ----',
  'Ada Moss <ada@shop.example> wrote:',
  '2026-11-03 16:02 GMT+01:00 Ada Moss <|ada@shop.example>:',
  'Am Di., 3. Nov. 2026 um 16:02 Uhr schrieb Ada Moss <|ada@shop.example>:',
  'Am 03.11.26 um 16:02 schrieb Ada Moss:',
  'Ada Moss schrieb am 03.11.2026 um 16:02:',
  'Ada Moss <ada@shop.example> schrieb am Di., 3.|Nov. 2026 um 16:02 Uhr:',
  'Le mar. 3 nov. 2026 à 16:02, Ada Moss <ada@shop.example> a|écrit :',
  'El mar, 3 nov 2026 a las 16:02, Ada Moss (<ada@shop.example>)|escribió:',
  'Il giorno mar 3 nov 2026 alle ore 16:02 Ada Moss <ada@shop.example> ha scritto:',
  'Op di 3 nov 2026 om 16:02 schreef Ada Moss <ada@shop.example>:',
  'Op 3 nov. 2026 16:02 schreef "Ada" <ada@shop.example> het|volgende geschreven:',
  'Em ter., 3 de nov. de 2026 às 16:02, Ada Moss <|ada@shop.example> escreveu:',
  'Den tis 3 nov. 2026 kl 16:02 skrev Ada Moss <ada@shop.example>:',
  'tir. 3. nov. 2026 kl. 16:02 skrev Ada Moss <ada@shop.example>:',
  'ti 3. marrask. 2026 klo 16.02 Ada Moss (ada@shop.example) kirjoitti:',
  'wt., 3 lis 2026 o 16:02 Ada Moss <ada@shop.example> napisał(a):',
  'W dniu 3.11.2026 o 16:02, Ada Moss pisze:',
  'út 3. 11. 2026 v 16:02 odesílatel Ada Moss <ada@shop.example> napsal:',
  'вт, 3 нояб. 2026 г. в 16:02, Ada Moss <ada@shop.example>:',
  '3 окт. 2026 г. 19:37 пользователь "Ada" <|ada@shop.example> написал:',
  'вт, 3 лист. 2026 р. о 16:02 Ada Moss <ada@shop.example> пише:',
  'Ada Moss <ada@shop.example>, 3 Kas 2026 Sal, 16:02 tarihinde şunu yazdı:',
  'Ada Moss <ada@shop.example> ezt írta (időpont: 2026. nov. 3., K, 16:02):',
  'Pe mar., 3 nov. 2026 la 16:02, Ada Moss <ada@shop.example> a scris:',
  'Στις Τρί 3 Νοε 2026 στις 4:02 μ.μ., ο χρήστης Ada <ada@shop.example> έγραψε:',
  '\u202bבתאריך יום ג׳, 3 בנוב׳ 2026 ב-16:02 מאת \u202aAda\u202c <\u202aada@shop.example\u202c>:',
  'في الثلاثاء، 3 نوفمبر 2026 في 4:02 م تمت كتابة ما يلي بواسطة Ada <ada@shop.example>:',
  'Vào Th 3, 3 thg 11, 2026 vào lúc 16:02 Ada <ada@shop.example> đã viết:',
  'Pada tanggal Sel, 3 Nov 2026 pukul 16.02 Ada <ada@shop.example> menulis:',
  '2026年11月3日(火) 16:02 Ada Moss <ada@shop.example>:',
  '2026/11/03 16:02、Ada Mossのメール:',
  'Ada Moss <ada@shop.example> 于2026年11月3日周二 下午4:02写道：',
  '在 2026年11月3日，下午4:02，Ada Moss <ada@shop.example> 写道：',
  '2026년 11월 3일 (화) 오후 4:02, Ada Moss <ada@shop.example>님이 작성:',
];

t.test('a quote below the attribution of a client is cut', async (t) => {
  for (const attribution of ATTRIBUTIONS) {
    const above = attribution.replaceAll('|', '\n');
    t.equal(visibleText(`Yes.\n\n${above}\n\n> When?\n>\n> Ada\n`), 'Yes.', above);
    for (const words of ['Yes.', 'On it.', 'Am See', 'Le 3'])
      t.equal(visibleText(`${words}\n${above}\n> When?`), words, `${words}, right above ${above}`);
    t.equal(visibleText(`${above}\n> When?\n\nTomorrow.`), 'Tomorrow.', `${above}, above the answer`);
    const [first = ''] = above.split('\n');
    if (first === above)
      t.equal(visibleText(`Yes.\n\n> ${above}\n>\n> When?`), 'Yes.', `${above}, quoted itself`);
  }
  t.equal(
    visibleText('Yes.\n\nAm 3.11.26 um 16:02 schrieb Ada <a@b.example\n>:\n\n> When?'),
    'Yes.',
    'wrapped in its end',
  );
  t.equal(visibleText(':+1:\n\nOn 3 Nov 2026, Ada wrote:\n> When?'), ':+1:', 'an emoji is no colon');
  const signed = 'Yes.\n\nAm 03.11.26 um 16:02 schrieb Ada:\n> Wann?\n--\nCleo';
  t.equal(visibleText(signed), 'Yes.\n\n--\nCleo', 'a signature that cannot be told stays');
});

t.test('an answered mail without quote marks is cut below a sure attribution or a head alone', async (t) => {
  const sure = ATTRIBUTIONS.filter((one) => attributionOf(one.replaceAll('|', ' ')) === 'sure');
  t.ok(sure.length > 25, `${sure.length}`);
  for (const attribution of sure) {
    const above = attribution.replaceAll('|', '\n');
    t.equal(visibleText(`Yes.\n\n${above}\n\nWhen?\nAda`), 'Yes.', above);
    for (const words of ['Thanks', 'On it.', 'Am See', 'Le 3'])
      t.equal(visibleText(`${words}\n${above}\nWhen?`), words, `${words}, right above ${above}`);
  }
  const likely = ATTRIBUTIONS.filter((one) => !sure.includes(one)).map((one) => one.replaceAll('|', '\n'));
  for (const above of likely) {
    const text = `Yes.\n\n${above}\n\nWhen?\nAda`;
    t.equal(visibleText(text), text, above);
  }
  for (const [from, date, to, subject] of FIELDS) {
    const head = `${from} Ada Moss\n${date} 3.11.2026 16:02\n${to} Cleo\n${subject} Order`;
    t.equal(visibleText(`Yes.\n\n${head}\n\nWhen?`), 'Yes.', head);
    t.equal(visibleText(`Yes.\n________________\n${head}\n\nWhen?`), 'Yes.', `${head}, below a line`);
    t.equal(visibleText(`Yes.\n\n${head.replace(/^.*/gm, '> $&')}\n> When?`), 'Yes.', `${head}, quoted`);
    const dayAlone = head.replace(' 16:02', '');
    t.equal(visibleText(`Yes.\n\n${dayAlone}\n\nWhen?`), `Yes.\n\n${dayAlone}\n\nWhen?`, dayAlone);
  }
  for (const mark of ORIGINALS) t.equal(visibleText(`Yes.\n\n${mark}\n\nWhen?`), 'Yes.', mark);
});

/** The heads of clients. */
const FIELDS = [
  ['From:', 'Sent:', 'To:', 'Subject:'],
  ['*From:*', '*Date:*', '*To:*', '*Subject:*'],
  ['Von:', 'Gesendet:', 'An:', 'Betreff:'],
  ['De :', 'Envoyé :', 'À :', 'Objet :'],
  ['De:', 'Enviado el:', 'Para:', 'Asunto:'],
  ['Da:', 'Inviato:', 'A:', 'Oggetto:'],
  ['Van:', 'Verzonden:', 'Aan:', 'Onderwerp:'],
  ['De:', 'Enviada em:', 'Para:', 'Assunto:'],
  ['Från:', 'Skickat:', 'Till:', 'Ämne:'],
  ['Fra:', 'Sendt:', 'Til:', 'Emne:'],
  ['Lähettäjä:', 'Lähetetty:', 'Vastaanottaja:', 'Aihe:'],
  ['Od:', 'Wysłano:', 'Do:', 'Temat:'],
  ['Od:', 'Odesláno:', 'Komu:', 'Předmět:'],
  ['От:', 'Отправлено:', 'Кому:', 'Тема:'],
  ['Від:', 'Надіслано:', 'Кому:', 'Тема:'],
  ['Kimden:', 'Gönderildi:', 'Kime:', 'Konu:'],
  ['Feladó:', 'Elküldve:', 'Címzett:', 'Tárgy:'],
  ['De la:', 'Trimis:', 'Către:', 'Subiect:'],
  ['Από:', 'Στάλθηκε:', 'Προς:', 'Θέμα:'],
  ['מאת:', 'נשלח:', 'אל:', 'נושא:'],
  ['发件人:', '发送时间:', '收件人:', '主题:'],
  ['寄件者：', '寄件日期：', '收件者：', '主旨：'],
  ['差出人:', '送信日時:', '宛先:', '件名:'],
  ['보낸 사람:', '보낸 날짜:', '받는 사람:', '제목:'],
] as const;

const ORIGINALS = [
  '-----Original Message-----',
  '*-------- Original Message --------*',
  '-----Ursprüngliche Nachricht-----',
  "-----Message d'origine-----",
  '-----Mensaje original-----',
  '-----Исходное сообщение-----',
  '-----元のメッセージ-----',
];

t.test('a signature below dashes and a blank is cut, up to a quote', async (t) => {
  t.equal(visibleText('Yes.\n-- \nCleo\nPhone 123'), 'Yes.');
  t.equal(visibleText('A\n--\nB\n-- \nCleo'), 'A\n--\nB');
  const above = 'Yes.\n\n-- \nCleo\n\nOn 3 Nov 2026, Ada wrote:\n> When?';
  t.equal(visibleText(above), 'Yes.');
  t.equal(visibleText('Yes.\n-- \nCleo\n> npm start'), 'Yes.\n> npm start', 'a quote of a person stays');
  const part = `A\n-- \n${'B\n'.repeat(16)}`.trim();
  t.equal(visibleText(part), part, 'no signature has sixteen lines');
});

/** The lines that devices and programs add. */
const DEVICE_LINES = `
  Sent from my iPhone
  Sent from my iPhone 15 Pro Max
  Sent from my Verizon Wireless BlackBerry
  Sent from Yahoo Mail on Android
  Sent from Mail for Windows 10
  Sent from Windows Mail
  Sent from my mobile device
  (Sent from my phone.)
  Sent with Proton Mail secure email.
  Sent via the Samsung Galaxy S8, an AT&T 5G smartphone
  Get Outlook for iOS<https://aka.ms/o0ukef>
  Get [Outlook for Android](https://aka.ms/ghei36)
  Von meinem iPhone gesendet
  Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.
  Gesendet mit der GMX Mail App
  Gesendet von Outlook für Android
  Outlook für iOS beziehen
  Envoyé de mon iPhone
  Envoyé depuis mon appareil mobile Samsung.
  Envoyé à partir de Outlook pour iOS
  Enviado desde mi iPhone
  Enviado do meu iPhone
  Enviado do Yahoo Mail no Android
  Inviato da iPhone
  Inviato dal mio telefono
  Verstuurd vanaf mijn iPhone
  Verzonden met BlackBerry Work
  Skickat från min iPhone
  Sendt fra min iPad
  Lähetetty iPhonesta
  Wysłane z iPhone'a
  Odesláno z iPhonu
  Отправлено с iPhone
  Отправлено из мобильной Почты Mail.ru
  Надіслано з iPhone
  iPhone'umdan gönderildi
  Elküldve az iPhone-omról
  Trimis de pe iPhone-ul meu
  Στάλθηκε από το iPhone μου
  נשלח מה-iPhone שלי
  أرسلت من الـ iPhone
  Gửi từ iPhone của tôi
  Dikirim dari iPhone saya
  iPhoneから送信
  나의 iPhone에서 보냄
  发自我的iPhone
  從我的 iPhone 傳送`
  .trim()
  .split(/\n */);

t.test('the line of a device is cut, and nothing that is more than that', async (t) => {
  for (const line of DEVICE_LINES) {
    t.equal(visibleText(`Yes.\n\n${line}\n`), 'Yes.', line);
    t.equal(
      visibleText(`Yes.\n\n${line}\n\nOn 3 Nov 2026, Ada wrote:\n> When?`),
      'Yes.',
      `${line}, and a quote`,
    );
    const sentence = `Yes.\n\n${line} parcel`;
    t.equal(visibleText(sentence), sentence);
    const between = `Yes.\n${line}\nNo.`;
    t.equal(visibleText(between), between, 'not between sentences');
  }
  for (const line of [
    'Sent via email.',
    'Sent from Max',
    'Gesendet mit der Post',
    'Sent from my phone for Max',
  ])
    t.notOk(isDeviceLine(line), line);
});

t.test('subjects that forward a mail', async (t) => {
  for (const subject of [
    'Fwd: Invoice',
    'FW: RE: Invoice',
    'WG: x',
    'TR : x',
    'RV: x',
    'ENC: x',
    'I: x',
    '转发：x',
  ])
    t.ok(isForward(subject), subject);
  for (const subject of ['Re: Fwd: Invoice', 'Invoice', 'Forward: march', 'AW: WG: x', 'Track: x'])
    t.notOk(isForward(subject), subject);
});

t.test('the words that a body leaves out', async (t) => {
  t.equal(omittedText('Yes.\n\n> No?\n', 'Yes.'), '> No?');
  t.equal(omittedText('Yes.', 'Yes.'), '');
  t.equal(omittedText('', ''), '');
  t.equal(omittedText('> Q\nA', 'A'), '> Q');
  t.equal(
    omittedText('A\n\n-- \nCleo\nOn 3 Nov 2026, Ada wrote:\n> Q\n\nB', 'A\n\nB'),
    '-- \nCleo\nOn 3 Nov 2026, Ada wrote:\n> Q',
  );
  t.equal(omittedText('Yes.\n> No?', 'Edited.'), 'Yes.\n> No?', 'all of it where the body is another');
  t.equal(omittedText('A\nB', 'A\nX'), 'A\nB');
  t.equal(omittedText('Yes, but\nYes', 'Yes'), 'Yes, but');
  const long = 'word '.repeat(10_000);
  t.equal(omittedText(`A\n${long}end`, `A\n${long.slice(0, 39_995)}`.trim()).at(0), 'w', 'cut at a blank');
  t.equal(omittedText(`${long}end`, long.slice(0, 40_000)).length, `${long}end`.length - 40_000);
  for (const attribution of ATTRIBUTIONS) {
    const text = `Yes.\n\n${attribution.replaceAll('|', '\n')}\n\n> When?`;
    const words = (part: string) => part.split(/\s+/).sort();
    t.strictSame(words(`${visibleText(text)} ${omittedText(text, visibleText(text))}`), words(text));
  }
});

t.test('texts that are made to take long are read within the limits of a mail', async (t) => {
  const reader = new MailReader();
  const store = { putStream: async () => 0, remove: async () => {} };
  const parts = [
    '>\n',
    '> a\nb\n',
    'From: a\n',
    'On 3.5.2026 16:02 a <a@b>\n',
    '-- \n',
    'a:\n',
    'a '.repeat(90),
  ];
  for (const part of parts) {
    const source = Buffer.from(`Subject: x\n\n${part.repeat(200_000 / part.length)}`);
    const { unread } = await reader.read(async function* () {
      yield source;
    }, store);
    t.equal(unread, null, part);
  }
});
