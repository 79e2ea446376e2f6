/** The shared parts of the operator's commands, of the core and of features. */

import type { Tokens } from '../../api/access/tokens.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { AddressGuard } from '../../platform/outbound/address-guard.ts';
import type { ObjectStore } from '../attachments/storage.ts';
import type { SigningKey } from '../audit/signing-key.ts';
import type { Engine } from '../frames/engine.ts';
import type { NodeSettings } from './node-settings.ts';

/** The command line is wrong, and nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Option {
  /** One line about its meaning. */
  readonly help: string;
  /** The value in the usage text. */
  readonly value: string;
  readonly required?: true;
  /** The form of the value; a refusal states `accepts`. */
  readonly check?: { readonly accepts: string; readonly test: (text: string) => boolean };
}

export interface Command {
  /** One line about the command. */
  readonly help: string;
  readonly options: Readonly<Record<string, Option>>;
  /** The option whose value needs no name. */
  readonly first?: string;
  /** It uses only the configuration and files: no database is looked for or started. */
  readonly offline?: true;
  /** Walks the holdings of features, so that their modules are loaded. */
  readonly usesFeatures?: true;
  /** How many connections to the database it needs. Default: 1. */
  readonly connections?: number;
  /**
   * Resolves with the object to print, or undefined if it has printed by itself. Required options
   * are present, and every value has passed its check.
   */
  readonly run: (context: CommandContext, options: Options) => Promise<object | undefined>;
}

export type Options = Readonly<Record<string, string>>;
export type Commands = Readonly<Record<string, Command>>;

/** The context of a command. Parts that it opens are closed when it ends. */
export interface CommandContext {
  /** Has the schema of this version. */
  readonly database: Database;
  readonly config: Pick<NodeSettings, 'dataDir' | 'publicUrl' | 's3'> & { readonly redisUrl: string | null };
  readonly log: Logger;
  /** Prints an object on its own line; resolves when more can be printed. */
  readonly print: (line: object) => Promise<void>;
  /** Opens the installation's tokens, if PARLEY_TOKEN_SECRET is that of the nodes. */
  openTokens(): Promise<Tokens>;
  openStore(): Promise<ObjectStore>;
  openEngine(metrics: Metrics): Promise<Engine>;
  /** Makes the key if there is none. */
  openSigningKey(): Promise<SigningKey>;
  /** Decides which hosts the installation may connect to. */
  openGuard(): Promise<AddressGuard>;
  /** Opens the installation whose environment is in the file, as NAME=value. */
  openOther(file: string): Promise<CommandContext>;
}

export const ACCOUNT: Option = { help: 'id of the account', value: 'acc_…', required: true };
export const USER: Option = { help: 'id of the user', value: 'act_…', required: true };
export const MAX_ROWS = 10_000;
export const LIMIT: Option = {
  help: 'how many at most, newest first; 100 if left out',
  value: 'N',
  check: {
    accepts: `a whole number from 1 to ${MAX_ROWS}`,
    test: (text) => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= MAX_ROWS,
  },
};
export function oneOf(help: string, values: readonly string[]): Option {
  return {
    help,
    value: values.join('|'),
    check: { accepts: `one of ${values.join(', ')}`, test: (text) => values.includes(text) },
  };
}

/** Returns the `run` of a command that is one transaction. */
export function inTransaction(run: (tx: Tx, options: Options) => Promise<object>) {
  return ({ database }: CommandContext, options: Options) => database.transaction((tx) => run(tx, options));
}

/** Reads one row more than it shows, to know whether there are more. */
export async function listOf(
  object: string,
  limit = '100',
  read: (fetch: number) => Promise<object[]>,
): Promise<object> {
  const rows = await read(Number(limit) + 1);
  const data = rows.slice(0, Number(limit)).map((row) => ({ object, ...row }));
  return { object: 'list', data, has_more: rows.length > data.length };
}
