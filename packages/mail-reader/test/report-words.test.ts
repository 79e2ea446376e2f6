/** Reports that have no fields of RFC 3464, and mails that are no reports. */

import t from 'tap';
import { letter } from './corpus/corpus-mail.ts';
import { readInPieces } from './read-in-pieces.ts';

const BO = 'bo@customer.example';

async function reportOf(
  body: string,
  { from = 'MAILER-DAEMON@mx.example', subject = 'Notice', ...fields }: Readonly<Record<string, string>> = {},
) {
  const source = letter('report', { From: from, Subject: subject, ...fields }, body);
  return (await readInPieces(source, 65_536)).mail.report;
}

/** What servers write, and the recipient as `address action status` that must be read of it. */
const REPORTS: readonly (readonly [body: string, read: string, subject?: string])[] = [
  // The recipient in a sentence, at the beginning of a line, in quotes, in a list, in a log.
  [`There was an error delivering your mail to <${BO}>.\n\nmx said:\n550-5.1.1 No`, `${BO} failed 5.1.1`],
  [`We were unable to deliver your message.\n\n<${BO}>:\nmx said: 552 Mailbox full`, `${BO} failed 5.0.0`],
  [`It could not be delivered to its recipient:\n\n"${BO}":\n5.2.2 Mailbox full`, `${BO} failed 5.2.2`],
  [`Delivery to these recipients failed permanently:\n\n   * ${BO}\n`, `${BO} failed null`],
  [`Your message could not be delivered to:\n-- ${BO}\n`, `${BO} failed null`],
  [`--- Transcript of session follows ---\n554 <${BO}>... 550 Host unknown`, `${BO} failed 5.0.0`],
  [`Your message of 3 May\n\ndid not reach the recipient ${BO}`, `${BO} failed null`],
  [
    `Unknown user: ${BO}\n\nOriginal message follows.\n\nTo: x@y.example`,
    `${BO} failed null`,
    'Undeliverable',
  ],
  [`${BO}\n\n--- Returned Message ---\nx@y.example`, `${BO} failed null`, 'Returned mail: no such user'],
  [`Could not be delivered: <${BO}>\nFor help write to\ncontact <help@mx.example>`, `${BO} failed null`],
  // None named, only a place in the system of files, only the server itself.
  ['Your mail was not delivered.', 'null failed null'],
  ['Delivery failed.\n\n/var/mail/bo@customer.example: 552 5.2.2 full', 'null failed 5.2.2'],
  ['An error while delivering, says mailer-daemon@mx.example.', 'null failed null'],
  // Fields of RFC 3464 in the text for people.
  [`Report:\n\nAction: delayed\nFinal-Recipient: rfc822; ${BO}\nStatus: 4.2.2`, `${BO} delayed 4.2.2`],
  // Still tried.
  [`Delivery has been delayed.\n\n<${BO}>: 451 4.4.1 busy`, `${BO} delayed 4.4.1`],
  [`Warning. We could not deliver to\n\n${BO}: 421 busy\n\nand will keep trying.`, `${BO} delayed 4.0.0`],
  // What the mail itself says does not count.
  [`Delivery failed:\n\n${BO}: 5.1.1\n\n--- Original message ---\n\nWe will retry.`, `${BO} failed 5.1.1`],
  // Other languages.
  [`Ihre Nachricht konnte nicht zugestellt werden:\n\n${BO}`, `${BO} failed null`],
  [`Votre message n'a pas pu être remis à :\n\n${BO}`, `${BO} failed null`],
  [`No se ha podido entregar su mensaje a:\n\n${BO}`, `${BO} failed null`],
  [`Non è stato possibile recapitare il messaggio a:\n\n${BO}`, `${BO} failed null`],
  [`A mensagem não foi entregue a:\n\n${BO}`, `${BO} failed null`],
  [`Het bericht kon niet worden afgeleverd bij:\n\n${BO}`, `${BO} failed null`],
  [`Wiadomość nie została dostarczona do:\n\n${BO}`, `${BO} failed null`],
  [`Сообщение не доставлено:\n\n${BO}`, `${BO} failed null`],
  [`以下の宛先に配信できませんでした。\n\n${BO}`, `${BO} failed null`],
  [`您的邮件无法投递:\n\n${BO}`, `${BO} failed null`],
  [`다음 주소로 전송하지 못했습니다:\n\n${BO}`, `${BO} failed null`],
];

const UTF_8 = { 'Content-Type': 'text/plain; charset=utf-8' };

t.test('the words of servers say what became of a mail, however they put it', async (t) => {
  for (const [body, read, subject = 'Notice'] of REPORTS) {
    const bytes = Buffer.from(body).toString('latin1');
    const report = await reportOf(bytes, { subject, ...UTF_8 });
    const [one, ...others] = report?.recipients ?? [];
    t.equal(`${one?.address} ${one?.action} ${one?.status}`, read, body);
    t.strictSame(others, [], body);
    t.equal(report?.evidence, 'sender', body);
  }
});

t.test('only a part of RFC 3464 or the name of the sender makes more than words of them', async (t) => {
  const body = `Your message could not be delivered.\n\n${BO}: 550 5.1.1 unknown`;
  for (const from of [
    'MAILER-DAEMON (Mail Delivery System)',
    'Mail <postmaster@mx.example>',
    'post_master@mx.example',
    'MAILER-DAEMON <>',
    '<>',
  ]) {
    t.equal((await reportOf(body, { from }))?.evidence, 'sender', from);
  }
  const [cleo, failed] = ['Cleo <cleo@customer.example>', { 'X-Failed-Recipients': BO }];
  t.match(await reportOf('No text.', { from: cleo, ...failed }), {
    recipients: [{ address: BO, action: 'failed' }],
    evidence: 'sender',
  });
  t.equal((await reportOf(body, { from: cleo }))?.evidence, 'words');
});

t.test('what machines and people write of other things is no report, whoever sends it', async (t) => {
  for (const body of [
    'I am away until Monday. In urgent cases write to\n\nbo@customer.example',
    'This mailbox is not read any more. Please write to bo@customer.example.',
    'Your mail will not be forwarded. Bo (bo@customer.example) has your answers.',
    'Thank you for your message. We have got it, and will answer within two days.',
    'Ihre Nachricht ist eingegangen. Ich bin bis Montag nicht im Haus.',
    'Your mailbox is almost full: 98 % of 1 GB.',
    'Reset your password here. If you did not ask for it, nothing has changed.',
    'I have got no answer of yours. Was my address wrong?\n\nbo@customer.example',
  ]) {
    t.equal(await reportOf(body), null, body);
  }
});
