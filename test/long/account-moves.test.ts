/**
 * Without influence: src/app/demo, src/app/supervise.ts, src/app/supervisor, src/app/tail.ts,
 * src/contract/client/ai, src/contract/client/react, src/core/installation, src/core/registration,
 * src/edge/console, src/features/agents/models, src/features/agents/tools,
 * src/features/import/archives, src/features/mail/reading, src/features/mail/transports,
 * src/features/widgets/frame, src/features/widgets/page, src/platform/http/documents/pages,
 * src/platform/ui.
 */

import t from 'tap';
import { cells } from '../campaigns/cells.ts';

t.test('a slice of the campaign: accounts move while messages are sent', async (t) => {
  const { problems, moves, acknowledged } = await cells(t, {
    ...{ seed: 1, accounts: 3, messages: 30, perSecond: 30, kills: 1, isReturn: false },
  });
  t.strictSame(problems, []);
  t.ok(moves === 3 && acknowledged > 90, `${moves} moves, ${acknowledged} messages`);
});
