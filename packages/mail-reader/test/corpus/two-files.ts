import { base64 } from './corpus-mail.ts';

/** A mail of a text and two attachments. */
export const TWO_FILES = `
From: Ada <ada@example.test>
Message-ID: <1@example.test>
Content-Type: multipart/mixed; boundary="b"

--b

Two files.
--b
Content-Type: application/pdf; name=a.pdf
Content-Transfer-Encoding: base64

${base64('%PDF-1.7')}
--b
Content-Type: text/calendar; method=REQUEST

BEGIN:VCALENDAR
--b--
`;
