/**
 * Hostile tokens among honest ones (docs/contract.md#identity-providers): no hostile token is
 * admitted, every honest one is, and no refusal shows anything of a token.
 */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { callsAt, startTestApp } from '../support/app.ts';
import { Random } from '../support/random.ts';
import { TokenIssuer } from '../support/token-issuer.ts';
import { provide } from './fixture.ts';
import { Forger } from './hostile.ts';

const HOSTILE = 1_000;
const AT_ONCE = 20;

t.test('0 of 1,000 hostile tokens and all honest ones are admitted', async (t) => {
  const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
  const { call } = callsAt(app, NEWEST_VERSION);
  const issuer = await TokenIssuer.start(t);
  await provide(app, issuer, { person: 'customer', provision: 'first_use' });
  const seed = Number(process.env.SEED ?? 29);
  const forger = new Forger(issuer, new Random(seed));
  t.ok(forger.kinds > 40);
  const ask = (token: string) => call('GET', '/v1/messaging/conversations?limit=1', { token });
  // The first one has the keys read.
  t.equal((await ask(forger.honest())).status, 200);

  const admitted: string[] = [];
  const refused: string[] = [];
  const others: string[] = [];
  for (let done = 0; done < HOSTILE; done += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, n) => {
        const { kind, token } = forger.hostile(done + n);
        const honest = n % 4 === 0 ? forger.honest() : undefined;
        const { status, text } = await ask(token);
        if (status < 400) admitted.push(`${kind}: ${token}`);
        else if (status !== 401 && status !== 431) others.push(`${kind}: ${status} ${text}`);
        // Parts of a token are long, and no message has such a word.
        for (const part of token.split('.'))
          if (part.length > 20 && text.includes(part)) others.push(`${kind}: ${text}`);
        if (honest === undefined) return;
        const answer = await ask(honest);
        if (answer.status !== 200) refused.push(`${answer.text} ${honest}`);
      }),
    );
  }
  t.strictSame(admitted, [], `seed ${seed}`);
  t.strictSame(refused, [], `seed ${seed}`);
  t.strictSame(others, [], `seed ${seed}`);
  const persons = await app.database.kysely.selectFrom('identities').select('actor_id').execute();
  t.ok(persons.length <= 5, 'hostile tokens made no one');
  t.ok(
    issuer.asked.every((path) => path === '/keys'),
    'no address of a token was asked',
  );
});
