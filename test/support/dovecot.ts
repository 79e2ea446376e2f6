/** A real IMAP server for tests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ImapFlow } from 'imapflow';
import { findProgram } from './debian-program.ts';
import { freePort } from './free-port.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

export interface TestMailbox {
  /** A user; all users have the same INBOX, and the password `secret`. */
  readonly user: string;
  readonly port: number;
  /** Puts a mail into the mailbox. Returns its UID. */
  append(mail: string | Buffer): Promise<number>;
  /** Returns the flags and keywords of each message, by UID. */
  flags(): Promise<Readonly<Record<number, readonly string[]>>>;
  /** Restarts the server with an empty mailbox, which has another UIDVALIDITY. */
  recreate(): Promise<void>;
}

/** Starts dovecot in the foreground with a mailbox of its own; it ends with the test. */
export async function startDovecot(
  t: Teardown,
  { user = 'support@harbor.example' } = {},
): Promise<TestMailbox> {
  const program = await findDovecot();
  const directory = await mkdtemp(join(tmpdir(), 'parley-dovecot-'));
  const port = await freePort();
  // Its processes run as other users.
  await chmod(directory, 0o755);
  const mailbox = join(directory, 'mail');
  await openDirectory(mailbox);
  await writeFile(join(directory, 'dovecot.conf'), configuration(directory, port));
  let child: ChildProcess | undefined;
  const stop = async () => {
    if (child === undefined) return;
    const exited = new Promise((resolve) => child!.once('exit', resolve));
    // The master ends its children, which it could not after a SIGKILL.
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await exited;
    }
    child = undefined;
  };
  const start = async () => {
    const started = spawn(program, ['-F', '-c', join(directory, 'dovecot.conf')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    let errors = '';
    started.stderr.on('data', (data: Buffer) => {
      errors += data.toString();
    });
    await until(
      async () => {
        if (started.exitCode !== null) throw new Error(`dovecot does not start: ${errors}`);
        return withClient(async () => true).catch(() => false);
      },
      { what: 'dovecot answers' },
    );
  };
  const withClient = async <T>(work: (client: ImapFlow) => Promise<T>): Promise<T> => {
    const auth = { user, pass: 'secret' };
    const client = new ImapFlow({
      host: '127.0.0.1',
      port,
      secure: false,
      auth,
      logger: false,
      disableAutoIdle: true,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.logout().catch(() => client.close());
    }
  };
  t.teardown(async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  });
  await start();
  return {
    user,
    port,
    append: (mail) =>
      withClient(async (client) => {
        const appended = await client.append('INBOX', mail);
        return appended === false ? 0 : (appended.uid ?? 0);
      }),
    flags: () =>
      withClient(async (client) => {
        await client.mailboxOpen('INBOX', { readOnly: true });
        const messages = await client.fetchAll('1:*', { uid: true, flags: true });
        return Object.fromEntries(
          messages.map(({ uid, flags = new Set() }) => [
            uid,
            [...flags].filter((flag) => flag !== '\\Recent').sort(),
          ]),
        );
      }),
    async recreate() {
      await stop();
      await rm(mailbox, { recursive: true });
      await openDirectory(mailbox);
      await start();
    },
  };
}

async function openDirectory(path: string): Promise<void> {
  await mkdir(path);
  // The mode of mkdir depends on the umask.
  await chmod(path, 0o777);
}

function configuration(directory: string, port: number): string {
  return `
    base_dir = ${directory}/run
    state_dir = ${directory}/run
    log_path = /dev/stderr
    protocols = imap
    ssl = no
    disable_plaintext_auth = no
    first_valid_uid = 1
    first_valid_gid = 1
    mail_location = maildir:${directory}/mail
    passdb {
      driver = static
      args = password=secret
    }
    userdb {
      driver = static
      args = uid=65534 gid=65534 home=${directory}/mail
    }
    service imap-login {
      inet_listener imap {
        address = 127.0.0.1
        port = ${port}
      }
      inet_listener imaps {
        port = 0
      }
    }`;
}

let found: Promise<string> | undefined;

function findDovecot(): Promise<string> {
  found ??= findProgram({
    names: ['dovecot'],
    package: 'dovecot-imapd',
    advice: 'these tests need dovecot: put it on PATH, or run them as root on Debian or Ubuntu',
  });
  return found;
}
