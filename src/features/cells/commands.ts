import { ACCOUNT, type Commands, oneOf } from '../../core/features/command.ts';

/** The operator's commands for cells. Each loads its modules when it runs. */
export const cellCommands: Commands = {
  'account move-out': {
    help: 'Let an account move to another cell, which takes it with "account move-in"; shows how far it is',
    options: {
      id: ACCOUNT,
      to: {
        help: 'address of the other cell, its PARLEY_PUBLIC_URL',
        value: 'URL',
        required: true,
        check: {
          accepts: 'an http(s) URL without a path',
          test: (text) => /^https?:\/\/[^/\s]+$/.test(text),
        },
      },
    },
    async run(context, { id = '', to = '' }) {
      const { letMove } = await import('./move-command.ts');
      return { object: 'account_move', ...(await letMove(context, id, to)) };
    },
  },
  'account move-in': {
    help: 'Take an account from another cell, which has let it move; run again, it goes on where it stopped',
    connections: 4,
    usesFeatures: true,
    options: {
      id: ACCOUNT,
      from: {
        help: 'file with the environment of the other cell, as NAME=value',
        value: 'FILE',
        required: true,
      },
      cancel: oneOf('yes: give the move up; the account stays at the other cell', ['yes', 'no']),
    },
    async run(context, { id: accountId = '', from = '', cancel }) {
      const { takeAccount } = await import('./move-command.ts');
      return takeAccount(context, { accountId, from, isCanceled: cancel === 'yes' });
    },
  },
};
