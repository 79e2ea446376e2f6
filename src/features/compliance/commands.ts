import { ACCOUNT, type Commands, inTransaction, UsageError } from '../../core/features/command.ts';

/** The operator's commands for compliance. Each loads its modules when it runs. */
export const complianceCommands: Commands = {
  'account delete': {
    help: 'Delete an account for good, unless a conversation of it is under legal hold; running nodes remove it',
    options: {
      id: ACCOUNT,
      confirm: {
        help: 'the same id again; without it nothing is deleted, and what would be is shown',
        value: 'acc_…',
      },
    },
    usesFeatures: true,
    run: inTransaction(async (tx, { id = '', confirm }) => {
      if (confirm !== undefined && confirm !== id)
        throw new UsageError(`--confirm must be ${id}, the id of the account`);
      const { countMembers, findAccount } = await import('../../core/accounts/account/accounts.ts');
      const { readHead } = await import('../../core/audit/chain-store.ts');
      const { beginAccountRemoval, requireRemovable } = await import('./account-removal.ts');
      const { name } = await findAccount(tx, id);
      await requireRemovable(tx, id);
      const shown = {
        object: 'account_deletion',
        account_id: id,
        name,
        ...(await countMembers(tx, [id])).get(id),
      };
      if (confirm === undefined)
        return { ...shown, deleted_at: null, to_delete: `account delete --id ${id} --confirm ${id}` };
      const { deleted_at } = await beginAccountRemoval(tx, undefined, id);
      const { head } = await readHead(tx, id);
      return { ...shown, deleted_at, audit_head: head };
    }),
  },
  'export verify': {
    first: 'file',
    help: 'Check an export offline: its signature, every hash, and that nothing was added or is missing',
    options: {
      file: { help: 'path of the downloaded export', value: 'exp_….zip', required: true },
      key: {
        help: 'public key that must have signed it, from "audit key"; if left out, the keys of this deployment',
        value: 'K',
      },
    },
    offline: true,
    async run({ openSigningKey }, { file = '', key }) {
      const { TrustedKeys } = await import('../../core/audit/signing-key.ts');
      const { verifyArchive } = await import('./exports/verify-archive.ts');
      const keys = key === undefined ? (await openSigningKey()).trusted : new TrustedKeys([key]);
      return { object: 'verified_export', valid: true, ...(await verifyArchive(file, keys)) };
    },
  },
};
