/** The number of the pool's connections that the requests of one credential hold at once. */

import { Body } from '@parley/protocol/schema/schema.ts';
import t from 'tap';
import { Type } from 'typebox';
import { defineRoute } from '../../src/api/pipeline/route.ts';
import { until } from '../support/until.ts';
import { HEADERS, principal, serve } from './fixture.ts';

t.test('requests of one credential wait for each other beyond a few, those of others do not', async (t) => {
  const handled: string[] = [];
  const gate = Promise.withResolvers<void>();
  const { url } = await serve(t, {
    authenticator: {
      authenticate: (header) =>
        principal({ credential: { kind: 'api_key', id: header ?? '', expiresAtMs: null } }),
    },
    routes: [
      defineRoute({
        name: 'get_thing',
        method: 'GET',
        path: '/v1/things',
        summary: 'Wait',
        since: '1.0.harbor',
        permission: null,
        query: Body({ at_once: Type.Optional(Type.String()) }),
        response: Type.Object({ waited: Type.Boolean() }),
        isUnpooled: ({ at_once }) => at_once !== undefined,
        async handle({ principal }) {
          handled.push(principal.credential.id);
          await gate.promise;
          return { waited: true };
        },
      }),
    ],
  });
  const get = (name: string, query = '') =>
    fetch(`${url}/v1/things${query}`, { headers: { ...HEADERS, Authorization: name } });
  const ofOne = Array.from({ length: 10 }, () => get('Bearer one'));
  await until(() => handled.length === 4, { what: 'four requests under way' });
  const ofOther = get('Bearer other');
  const unpooled = get('Bearer one', '?at_once=yes');
  await until(() => handled.length === 6, {
    what: 'the request of another caller, and one without the pool',
  });
  t.strictSame(handled.slice(4).sort(), ['Bearer one', 'Bearer other']);
  gate.resolve();
  const answers = await Promise.all([...ofOne, ofOther, unpooled]);
  t.ok(answers.every(({ status }) => status === 200));
  t.equal(handled.length, 12);
});
