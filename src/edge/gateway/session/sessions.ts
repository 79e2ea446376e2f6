import type { Principal } from '../../../api/access/principal.ts';

/**
 * The open sessions of a node, indexed by what their rights depend on: credential, actor, role,
 * account, conversation. Ids of different kinds never coincide, so one index is enough.
 */
export class Sessions<Session extends object> {
  /** Most subjects have one session, which is stored without a set. */
  readonly #bySubject = new Map<string, Session | Set<Session>>();
  readonly #all = new Set<Session>();
  readonly #onCount: ((subject: string, count: number) => void) | undefined;

  /** `onCount` is called when a subject's number of sessions has changed. */
  constructor(onCount?: (subject: string, count: number) => void) {
    this.#onCount = onCount;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Returns all sessions, including those whose caller is not known yet. */
  all(): Iterable<Session> {
    return this.#all;
  }

  opened(session: Session): void {
    this.#all.add(session);
  }

  closed(session: Session): void {
    this.#all.delete(session);
  }

  /** Returns a copy, because callers may close sessions. */
  of(subject: string): Session[] {
    const found = this.#bySubject.get(subject);
    if (found === undefined) return [];
    return found instanceof Set ? [...found] : [found];
  }

  /** Counts without a copy: one actor may have thousands of sessions. */
  countOf(subject: string): number {
    const found = this.#bySubject.get(subject);
    return found instanceof Set ? found.size : found === undefined ? 0 : 1;
  }

  add(session: Session, subjects: Iterable<string>): void {
    for (const subject of subjects) {
      const found = this.#bySubject.get(subject);
      if (found === undefined) this.#bySubject.set(subject, session);
      else if (found instanceof Set) found.add(session);
      else if (found !== session) this.#bySubject.set(subject, new Set([found, session]));
      this.#onCount?.(subject, this.countOf(subject));
    }
  }

  remove(session: Session, subjects: Iterable<string>): void {
    for (const subject of subjects) {
      const found = this.#bySubject.get(subject);
      if (found === session) this.#bySubject.delete(subject);
      else if (found instanceof Set && found.delete(session) && found.size === 0)
        this.#bySubject.delete(subject);
      this.#onCount?.(subject, this.countOf(subject));
    }
  }
}

/** Returns the ids that a caller's rights depend on. */
export function subjectsOf({ accountId, actor, roleId, credential }: Principal): string[] {
  const subjects = [credential.id, actor.id, accountId];
  if (roleId !== null) subjects.push(roleId);
  if (credential.familyId !== undefined) subjects.push(credential.familyId);
  if (credential.provider !== undefined) subjects.push(credential.provider.id);
  return subjects;
}
