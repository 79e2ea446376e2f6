import t from 'tap';
import { cells } from '../campaigns/cells.ts';

t.test('a slice of the campaign: accounts move while messages are sent', async (t) => {
  const { problems, moves, acknowledged } = await cells(t, {
    ...{ seed: 1, accounts: 3, messages: 30, perSecond: 30, kills: 1, isReturn: false },
  });
  t.strictSame(problems, []);
  t.ok(moves === 3 && acknowledged > 90, `${moves} moves, ${acknowledged} messages`);
});
