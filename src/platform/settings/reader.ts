import { readFileSync } from 'node:fs';
import { nearestName } from '@parley/protocol/validation/nearest-name.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** All problems of the environment, one per line; never shows the value of a secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** The syntax of a value: `parse` returns undefined for text that is not accepted. */
export interface Kind<T> {
  readonly accepts: string;
  /** If true, the value must not appear in logs. */
  readonly secret?: boolean;
  /** If true, the value may have several lines. */
  readonly multiline?: boolean;
  readonly parse: (text: string) => T | undefined;
  /** Returns why a text is not accepted, without its secret parts. */
  readonly explain?: (text: string) => string | undefined;
}

const CONTROL = /\p{Cc}/u;

/** Reads variables by their syntax, and gathers their problems. */
export class Reader {
  readonly #env: Environment;
  readonly #known = new Set<string>();
  readonly #problems: string[] = [];

  constructor(env: Environment) {
    this.#env = env;
  }

  /**
   * Returns `otherwise` for a variable that is unset or empty. Line breaks at the end are left out:
   * a value that is read from a file ends with one. A secret may be in the file that `<name>_FILE`
   * names, where the environment would show it to other programs.
   */
  read<T, Default extends T | null>(name: string, kind: Kind<T>, otherwise: Default): T | Default {
    this.#known.add(name);
    const file = kind.secret ? this.#env[`${name}_FILE`] : undefined;
    if (kind.secret) this.#known.add(`${name}_FILE`);
    const text = file ? this.#readFile(name, file) : this.#env[name]?.replace(/[\r\n]+$/, '');
    if (text === undefined || text === '') return otherwise;
    const isReadable = kind.multiline || !CONTROL.test(text);
    const value = isReadable ? kind.parse(text) : undefined;
    if (value !== undefined) return value;
    const reason = isReadable ? kind.explain?.(text) : 'it has a line break or another control character';
    // A text of several lines may be a key, given instead of its path.
    const given = kind.secret || !isReadable ? '' : `, not ${JSON.stringify(text)}`;
    this.problem(`${name} must be ${kind.accepts}${given}${reason === undefined ? '' : `: ${reason}`}`);
    return otherwise;
  }

  /** Returns undefined, after noting why, if the file may not be used. */
  #readFile(name: string, path: string): string | undefined {
    if (this.#env[name]) {
      this.problem(`${name} and ${name}_FILE are both set: set one of them`);
      return undefined;
    }
    try {
      return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      this.problem(`${name}_FILE cannot be read: ${(error as Error).message}`);
      return undefined;
    }
  }

  problem(line: string): void {
    this.#problems.push(line);
  }

  /** Throws ConfigError for all problems found and unknown names that look like Parley's. */
  finish(): void {
    for (const name of Object.keys(this.#env).sort()) {
      if (this.#known.has(name) || isOfKubernetes(name, this.#env[name])) continue;
      const meant = this.#nameMeantBy(name);
      const ours = name.startsWith('PARLEY_');
      if (meant !== undefined) {
        const remedy = ours ? '' : ' Rename it or unset it.';
        this.problem(`${name} is not a variable of Parley: did you mean ${meant}?${remedy}`);
      } else if (ours) {
        this.problem(`${name} is not a variable of Parley; accepted are ${this.#namesLike(name).join(', ')}`);
      }
    }
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
  }

  /** Returns a sentence for each name that misspells one that is set itself. */
  misspellings(): string[] {
    const set = [...this.#known].filter((known) => this.#env[known] || this.#env[`${known}_FILE`]);
    return Object.keys(this.#env)
      .sort()
      .flatMap((name) => {
        const meant = this.#known.has(name) ? undefined : nearestName(name, set);
        return meant === undefined
          ? []
          : `${name} is not a variable of Parley, and has no effect: ${meant} is set too.`;
      });
  }

  /** Returns the known name that `name` misspells. A name that is set itself was not meant. */
  #nameMeantBy(name: string): string | undefined {
    const free = [...this.#known].filter((known) => !this.#env[known] && !this.#env[`${known}_FILE`]);
    const withoutPrefix = name.replace(/^PARLEY_/, '');
    return free.find((known) => known === withoutPrefix) ?? nearestName(name, free);
  }

  /** Returns the names of the same family (PARLEY_SOCKET_…), else all, large families as one. */
  #namesLike(name: string): string[] {
    const names = [...this.#known].filter((known) => /^PARLEY_(?!.*_FILE$)/.test(known)).sort();
    const family = /^PARLEY_[^_]+_/.exec(name)?.[0];
    const relatives = names.filter((known) => family !== undefined && known.startsWith(family));
    if (relatives.length > 0) return relatives;
    return [...new Set(names.map((known) => known.replace(/^(PARLEY_(S3|SOCKET)_).*/, '$1*')))];
  }
}

/**
 * Returns whether Kubernetes puts a variable into each pod for a Service, which may be called
 * `parley` or `parley-redis`. A start was refused because of them.
 */
function isOfKubernetes(name: string, value = ''): boolean {
  if (/^PARLEY_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_[A-Z]+_(PROTO|PORT|ADDR))$/.test(name))
    return true;
  // An operator who sets PARLEY_PORT to a number means PORT.
  return /^PARLEY_(\w+_)?PORT(_\d+_[A-Z]+)?$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value);
}
