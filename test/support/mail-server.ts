import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { Teardown } from './teardown.ts';

/** A mail as received by a server. */
export interface ReceivedMail {
  /** The envelope's sender. */
  readonly sender: string;
  /** The envelope's recipients. */
  readonly recipients: readonly string[];
  /** Headers by their names in lower case, unfolded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: string;
}

/** The number of an answer; undefined if accepted. */
type Answer = number | undefined;

/** An SMTP server that accepts everything unless a test says otherwise. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  answerTo: (recipient: string) => Answer = () => undefined;
  answerMail: (mail: ReceivedMail) => Answer | 'drop' | Promise<Answer> = () => undefined;
  url = '';
  /** Maximum number of concurrent mails. */
  mostAtOnce = 0;
  #underWay = 0;

  /** Starts a server. `port`: a free port by default. */
  static async start(t: Teardown, port = 0): Promise<MailServer & { close(): Promise<void> }> {
    const self = new MailServer();
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      closeTimeout: 10,
      onRcptTo({ address }, _session, done) {
        done(refusal(self.answerTo(address)));
      },
      onData(stream, session, done) {
        self.#underWay += 1;
        self.mostAtOnce = Math.max(self.mostAtOnce, self.#underWay);
        const pieces: Buffer[] = [];
        stream.on('data', (piece: Buffer) => pieces.push(piece));
        stream.on('end', async () => {
          const { mailFrom, rcptTo } = session.envelope;
          const raw = Buffer.concat(pieces).toString();
          const mail = {
            sender: mailFrom === false ? '' : mailFrom.address,
            recipients: rcptTo.map(({ address }) => address),
            headers: headersOf(raw),
            raw,
          };
          const answer = await self.answerMail(mail);
          self.#underWay -= 1;
          if (answer === undefined || answer === 'drop') self.received.push(mail);
          if (answer === 'drop') for (const one of server.connections) one.close();
          else done(refusal(answer));
        });
      },
    });
    server.on('error', () => {});
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    self.url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    let closing: Promise<void> | undefined;
    const close = () => {
      closing ??= new Promise<void>((resolve) => server.close(() => resolve()));
      return closing;
    };
    t.teardown(close);
    return Object.assign(self, { close });
  }
}

function refusal(answer: Answer): Error | null {
  if (answer === undefined) return null;
  const status = `${Math.floor(answer / 100)}.1.1`;
  return Object.assign(new Error(`${status} not this one`), { responseCode: answer });
}

function headersOf(raw: string): Record<string, string> {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ');
  return Object.fromEntries(
    head.split('\r\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}
