/** An account that is in another installation: the SDK goes on there (docs/operations.md#cells). */

import t from 'tap';
import { DEFAULT_VERSION } from '../../../test/support/default-version.ts';
import { until } from '../../../test/support/until.ts';
import { connect } from '../connect.ts';
import type { SocketLike } from '../link/connection.ts';

const [A, B] = ['https://a.chat.example', 'https://b.chat.example'];

/** Answers as the table says, by server and token. */
function open(t: Teardown, answers: Readonly<Record<string, Answer>>, tokens: string[]) {
  const asked: string[] = [];
  const sockets: string[] = [];
  class MuteSocket implements SocketLike {
    constructor(url: string) {
      sockets.push(url);
    }
    send() {}
    close() {}
    addEventListener() {}
  }
  const client = connect({
    url: A!,
    account: 'acc_1',
    version: DEFAULT_VERSION,
    getToken: () => tokens.shift()!,
    transports: ['websocket'],
    WebSocket: MuteSocket,
    fetch: async (input, init) => {
      const { origin } = new URL(String(input));
      const token = new Headers(init?.headers).get('authorization')!.slice('Bearer '.length);
      asked.push(`${origin} ${token}`);
      const [status, error] = answers[`${origin} ${token}`]!;
      return Response.json(error === undefined ? { id: 'usr_1' } : { error }, { status });
    },
  });
  t.teardown(() => client.close());
  return { client, asked, sockets };
}

type Answer = readonly [status: number, error?: object];
type Teardown = Pick<typeof t, 'teardown'>;

const isAt = (cell: string | undefined): Answer => [
  421,
  { code: 'account_in_other_cell', message: '…', is_transient: false, param: null, cell_url: cell },
];

t.test('requests follow, and all later ones go there at once', async (t) => {
  const { client, asked, sockets } = open(t, { [`${A} one`]: isAt(B), [`${B} one`]: [200] }, ['one']);
  t.match(await client.fetch('/v1/me'), { id: 'usr_1' });
  t.match(await client.fetch('/v1/me'), { id: 'usr_1' });
  t.strictSame(asked, [`${A} one`, `${B} one`, `${B} one`]);
  await until(() => sockets.length > 0, { what: 'a socket' });
  t.match(sockets[0], /\/v1\/realtime\?account=acc_1$/, 'balancers know its account');
});

t.test('two servers that name each other are asked once each', async (t) => {
  const { client, asked } = open(t, { [`${A} one`]: isAt(B), [`${B} one`]: isAt(A) }, ['one']);
  await t.rejects(client.fetch('/v1/me'), { code: 'account_in_other_cell', status: 421 });
  t.strictSame(asked, [`${A} one`, `${B} one`]);
});

t.test('a token that has expired is replaced there', async (t) => {
  const expired: Answer = [401, { code: 'expired_token', message: '…', is_transient: false }];
  const answers = { [`${A} one`]: isAt(B), [`${B} one`]: expired, [`${B} two`]: [200] } as const;
  const { client, asked } = open(t, answers, ['one', 'two']);
  t.match(await client.fetch('/v1/me'), { id: 'usr_1' });
  t.strictSame(asked, [`${A} one`, `${B} one`, `${B} two`]);
});
