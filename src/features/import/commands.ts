import type { ImportSource } from '@parley/protocol/resources/import.ts';
import { ACCOUNT, type Command, type Commands, oneOf } from '../../core/features/command.ts';

/** The operator's commands for imports. Each loads its modules when it runs. */
export const importCommands: Commands = {
  'import slack': importOf('slack', 'Import the zip file that Slack exports'),
  'import mattermost': importOf('mattermost', 'Import a bulk export of Mattermost: a zip, or its JSONL file'),
  'import zulip': importOf('zulip', 'Import the .tar.gz file that Zulip exports'),
  'import parley': importOf('parley', 'Import an exported conversation of Parley, or a converted archive'),
};

function importOf(source: ImportSource, help: string): Command {
  return {
    help: `${help}; run again, it goes on where it stopped`,
    first: 'archive',
    connections: 4,
    options: {
      archive: { help: 'path of the archive', value: 'FILE', required: true },
      account: ACCOUNT,
      'emails-verified': oneOf(
        'yes: the addresses in the archive belong to their persons, so users with the same address are the same persons',
        ['yes', 'no'],
      ),
      'email-domain': { help: 'makes addresses of user names in archives without addresses', value: 'D' },
      'file-token': { help: 'token of the service with which files are fetched', value: 'T' },
      origin: { help: 'name of the server, if the account imports from several of one kind', value: 'N' },
    },
    async run(context, options) {
      const { importArchive } = await import('./import-archive.ts');
      return importArchive(context, source, options);
    },
  };
}
