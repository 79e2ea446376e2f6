/** Mail that is signed or encrypted. */

import { base64, type CorpusMail, eml, letter, utf8 } from './corpus-mail.ts';

/** A mail of a text and a file. */
const INNER = eml(`
Content-Type: multipart/mixed; boundary=in

--in
Content-Type: text/plain; charset=utf-8

${utf8('Delivery on Monday, please. Grüße')}
--in
Content-Type: application/pdf; name=a.pdf
Content-Transfer-Encoding: base64

${base64('%PDF-1.7')}
--in--
`);
const INSIDE = {
  visibleText: 'Delivery on Monday, please. Grüße',
  attachments: [['a.pdf', 'application/pdf', 8]],
  protection: 'signed',
} as const;

const SIGNED = '2a864886f70d010702';
const ENVELOPED = '2a864886f70d010703';
const DATA = '2a864886f70d010701';

/** An element of ASN.1 with a known length. */
function element(tag: number, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  if (bytes.length < 128) return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
  const size = Buffer.alloc(3);
  size.writeUIntBE(bytes.length, 0, 3);
  return Buffer.concat([Buffer.from([tag, 0x83]), size, bytes]);
}

/** An element that ends with a mark, as programs write that do not know its length yet. */
function stream(tag: number, ...content: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([tag, 0x80]), ...content, Buffer.alloc(2)]);
}

const id = (hex: string) => element(0x06, Buffer.from(hex, 'hex'));
const number = (value: number) => element(0x02, Buffer.from([value]));
/** The certificates and signatures behind the content, which nothing reads. */
const SIGNERS = [element(0xa0, Buffer.alloc(300, 0x30)), element(0x31, Buffer.alloc(200, 0x30))];
const ALGORITHMS = element(0x31, element(0x30, id('608648016503040201')));

/** An S/MIME object around a mail, as most programs write it. */
function signed(mail: Buffer): Buffer {
  const content = element(0x30, id(DATA), element(0xa0, element(0x04, mail)));
  return element(0x30, id(SIGNED), element(0xa0, element(0x30, number(1), ALGORITHMS, content, ...SIGNERS)));
}

/** The same in pieces. */
function streamed(mail: Buffer, size: number): Buffer {
  const count = Math.ceil(mail.length / size);
  const pieces = Array.from({ length: count }, (_, index) =>
    element(0x04, mail.subarray(index * size, (index + 1) * size)),
  );
  const content = stream(
    0x30,
    id(DATA),
    stream(0xa0, stream(0x24, ...pieces.slice(0, 2), stream(0x24, ...pieces.slice(2)))),
  );
  return stream(0x30, id(SIGNED), stream(0xa0, stream(0x30, number(1), ALGORITHMS, content, ...SIGNERS)));
}

const ENCRYPTED = element(
  0x30,
  id(ENVELOPED),
  element(0xa0, element(0x30, number(0), Buffer.alloc(400, 0x31))),
);
const SIGNED_FILE = signed(Buffer.from('%PDF-1.7'));
const CERTIFICATES = element(
  0x30,
  id(SIGNED),
  element(0xa0, element(0x30, number(1), element(0x31), element(0x30, id(DATA)), ...SIGNERS)),
);

const SMIME = {
  'Content-Type': 'application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"',
  'Content-Disposition': 'attachment; filename="smime.p7m"',
  'Content-Transfer-Encoding': 'base64',
};

/** A mail that is an S/MIME object. */
function wrapped(name: string, object: Buffer, fields: Readonly<Record<string, string>> = {}): Buffer {
  return letter(name, { ...SMIME, ...fields }, base64(object));
}

/** The same fields within a mail. */
const SMIME_LINES = Object.entries(SMIME)
  .map(([field, value]) => `${field}: ${value}`)
  .join('\n');

const UNREADABLE =
  'This mail is encrypted, and only the key of its recipient can read it. It is attached as it came.';

export const PROTECTED: readonly CorpusMail[] = [
  { name: 'smime-signed', source: () => wrapped('smime-signed', signed(INNER)), parsed: INSIDE },
  {
    name: 'smime-signed-in-pieces',
    source: () => wrapped('smime-signed-in-pieces', streamed(INNER, 50)),
    parsed: INSIDE,
  },
  {
    name: 'smime-signed-in-an-old-type',
    source: () =>
      wrapped('smime-signed-in-an-old-type', signed(INNER), { 'Content-Type': 'application/x-pkcs7-mime' }),
    parsed: INSIDE,
  },
  {
    name: 'smime-signed-called-a-file',
    source: () =>
      wrapped('smime-signed-called-a-file', signed(INNER), {
        'Content-Type': 'application/octet-stream; name=smime.p7m',
      }),
    parsed: INSIDE,
  },
  {
    name: 'smime-signed-twice',
    source: () => wrapped('smime-signed-twice', signed(eml(`${SMIME_LINES}\n\n${base64(signed(INNER))}\n`))),
    parsed: INSIDE,
  },
  {
    name: 'smime-signed-below-a-list-footer',
    source: () =>
      letter(
        'smime-signed-below-a-list-footer',
        { 'Content-Type': 'multipart/mixed; boundary=list' },
        `--list\n${SMIME_LINES}\n\n${base64(signed(INNER))}\n--list\n\nLeave the list\n--list--\n`,
      ),
    parsed: { ...INSIDE, visibleText: 'Delivery on Monday, please. Grüße\nLeave the list' },
  },
  {
    name: 'smime-signed-and-cut',
    source: () => wrapped('smime-signed-and-cut', signed(INNER).subarray(0, 180)),
    parsed: { visibleText: 'Delivery on Mon', protection: 'signed', isDamaged: true },
  },
  {
    name: 'smime-encrypted',
    source: () => wrapped('smime-encrypted', ENCRYPTED),
    parsed: {
      visibleText: UNREADABLE,
      attachments: [['smime.p7m', 'application/pkcs7-mime', ENCRYPTED.length]],
      protection: 'encrypted',
    },
  },
  {
    name: 'smime-encrypted-and-signed',
    source: () =>
      wrapped('smime-encrypted-and-signed', signed(eml(`${SMIME_LINES}\n\n${base64(ENCRYPTED)}\n`))),
    parsed: {
      visibleText: UNREADABLE,
      attachments: [['smime.p7m', 'application/pkcs7-mime', ENCRYPTED.length]],
      protection: 'encrypted',
    },
  },
  {
    name: 'smime-certificates-alone',
    source: () => wrapped('smime-certificates-alone', CERTIFICATES),
    parsed: { visibleText: '', attachments: [['smime.p7m', 'application/pkcs7-mime', CERTIFICATES.length]] },
  },
  {
    name: 'smime-that-is-none',
    source: () => wrapped('smime-that-is-none', Buffer.from('%PDF-1.7')),
    parsed: { visibleText: '', attachments: [['smime.p7m', 'application/pkcs7-mime', 8]] },
  },
  {
    name: 'signed-files',
    source: () =>
      letter(
        'signed-files',
        { 'Content-Type': 'multipart/mixed; boundary=files' },
        `--files\n\nOur invoice.\n${[
          'application/pkcs7-mime; name="invoice.pdf.p7m"',
          'application/octet-stream; name="invoice.xml.p7m"',
          'application/pgp-encrypted; name="plan.pgp"',
        ]
          .map(
            (type) =>
              `--files\nContent-Type: ${type}\nContent-Transfer-Encoding: base64\n\n${base64(SIGNED_FILE)}\n`,
          )
          .join('')}--files--\n`,
      ),
    parsed: {
      visibleText: 'Our invoice.',
      attachments: [
        ['invoice.pdf.p7m', 'application/pkcs7-mime', SIGNED_FILE.length],
        ['invoice.xml.p7m', 'application/octet-stream', SIGNED_FILE.length],
        ['plan.pgp', 'application/pgp-encrypted', SIGNED_FILE.length],
      ],
    },
  },
  {
    name: 'smime-signature-beside-the-text',
    source: () =>
      letter(
        'smime-signature-beside-the-text',
        {
          'Content-Type':
            'multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary=s',
        },
        `--s\n\nHello.\n--s\nContent-Type: application/pkcs7-signature; name=smime.p7s\nContent-Transfer-Encoding: base64\n\nMIIB\n--s--\n`,
      ),
    parsed: { visibleText: 'Hello.', protection: 'signed' },
  },
  {
    name: 'pgp-encrypted',
    source: () =>
      letter(
        'pgp-encrypted',
        { 'Content-Type': 'multipart/encrypted; protocol="application/pgp-encrypted"; boundary=p' },
        `--p\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--p\nContent-Type: application/octet-stream; name=encrypted.asc\n\n-----BEGIN PGP MESSAGE-----\n--p--\n`,
      ),
    parsed: {
      visibleText: UNREADABLE,
      attachments: [['encrypted.asc', 'application/octet-stream', 27]],
      protection: 'encrypted',
    },
  },
];
