/** A processor's profile by parts of the code. */

import t from 'tap';
import { COLLECTOR, type Part, type Profile, REST, sharesOf } from '../../bench/lib/profile-parts.ts';

const PARTS: readonly Part[] = [
  ['HTTP', ['/src/http/']],
  ['client', ['/src/db/', '/node_modules/pg']],
  ['ours', ['/src/']],
];

t.test('samples count to the part of their file, or of what called them', async (t) => {
  const profile: Profile = [
    node(1, '', '(root)', 0, [2, 3, 4, 5, 8]),
    node(2, '', '(idle)', 900),
    node(3, '', '(program)', 10),
    node(4, '', '(garbage collector)', 20),
    node(5, 'file:///x/src/http/server.ts', 'serve', 5, [6, 7]),
    node(6, '', 'end', 25),
    node(7, 'file:///x/src/db/session.ts', 'query', 10, [9]),
    node(8, 'node:net', 'onread', 5, [10]),
    node(9, 'node:net', 'write', 5),
    node(10, 'file:///x/node_modules/pg-protocol/parser.js', 'parse', 10, [11]),
    node(11, 'file:///x/src/send.ts', 'sent', 10),
  ];
  const shares = sharesOf(profile, PARTS);
  t.strictSame(Object.fromEntries(shares), {
    [REST]: 0.15,
    [COLLECTOR]: 0.2,
    HTTP: 0.3,
    client: 0.25,
    ours: 0.1,
  });
});

t.test('the collector is itself wherever it ran', async (t) => {
  const profile: Profile = [
    node(1, '', '(root)', 0, [2]),
    node(2, 'file:///x/src/send.ts', 'send', 1, [3]),
    node(3, '', '(garbage collector)', 3),
  ];
  t.strictSame(Object.fromEntries(sharesOf(profile, PARTS)), { ours: 0.25, [COLLECTOR]: 0.75, [REST]: 0 });
});

function node(id: number, url: string, name: string, samples: number, children: number[] = []) {
  return { id, url, name, samples, children };
}
