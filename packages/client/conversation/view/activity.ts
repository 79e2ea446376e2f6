import type { PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import { actorOf } from '../../people/known-people.ts';
import { handled } from '../../timing/serial-queue.ts';
import type { ReadPosition } from './conversation-snapshot.ts';
import type { ViewCore } from './view-core.ts';

/** The activity of a conversation's members: typing, presence and read positions. */
export class Activity {
  readonly #core: Pick<ViewCore, 'id' | 'host' | 'changed'>;
  readonly #typing = new Map<string, () => void>();
  readonly #reads = new Map<string, number>();
  /**
   * Actors whose positions are from before a break, in which a membership may have ended and
   * another one begun with its own position.
   */
  readonly #unsure = new Set<string>();
  presence: ReadonlyMap<string, PresenceStatus> = new Map();
  #shownTyping: readonly Actor[] | undefined;
  #shownReads: ReadonlyMap<string, ReadPosition> | undefined;
  /** Cancels the wait before the next declaration; undefined while the caller may declare. */
  #stopDeclaring: (() => void) | undefined;

  constructor(core: Pick<ViewCore, 'id' | 'host' | 'changed'>) {
    this.#core = core;
  }

  /** The other actors that are typing. */
  get typing(): readonly Actor[] {
    this.#shownTyping ??= [...this.#typing.keys()].map((id) => this.#actorOf(id));
    return this.#shownTyping;
  }

  get reads(): ReadonlyMap<string, ReadPosition> {
    this.#shownReads ??= new Map(
      [...this.#reads].map(([id, sequence]) => [id, { actor: this.#actorOf(id), sequence }]),
    );
    return this.#shownReads;
  }

  receive(frame: EventOf<'typing' | 'presence' | 'read'>): void {
    const { actor_id: id } = frame.data;
    if (frame.event === 'typing') this.#setTyping(id, frame.data.state === 'start');
    else if (frame.event === 'read') this.#setRead(id, frame.data.sequence);
    else if (this.presence.get(id) !== frame.data.status) {
      this.presence = new Map([...this.presence, [id, frame.data.status]]);
      this.#core.changed('presence');
    }
  }

  /**
   * Takes the positions from members that were read, unless events brought newer ones. `isAll`: no
   * member is missing.
   */
  join(members: readonly Participant[], isAll = false): void {
    for (const id of isAll ? [...this.#reads.keys()] : []) {
      if (!this.#unsure.delete(id) && members.some(({ actor_id: known }) => known === id)) continue;
      this.#reads.delete(id);
      this.#readsChanged();
    }
    for (const { actor_id: id, last_read_sequence: sequence, membership } of members) {
      // A page that is opened now knows no position of a former member.
      if (membership === 'left' || membership === 'removed') {
        if (this.#reads.delete(id ?? '')) this.#readsChanged();
      } else if (id && sequence && sequence > (this.#reads.get(id) ?? 0)) this.#setRead(id, sequence);
    }
  }

  /** Declares whether the caller types, every 3 s at most. */
  declareTyping(isTyping = true): void {
    const isDeclared = this.#stopDeclaring !== undefined;
    if (isTyping === isDeclared) return;
    this.forgetDeclared();
    if (isTyping)
      this.#stopDeclaring = this.#core.host.timing.after(DECLARE_TYPING_MS, () => this.forgetDeclared());
    const state = isTyping ? 'start' : 'stop';
    void handled(this.#core.host.request('typing', { conversation_id: this.#core.id, state }));
  }

  /** Lets the next `declareTyping` declare at once. */
  forgetDeclared(): void {
    this.#stopDeclaring?.();
    this.#stopDeclaring = undefined;
  }

  stopTyping(actorId: string): void {
    this.#setTyping(actorId, false);
  }

  /** Drops the presence and doubts all positions until the next connection brings both. */
  doubt(): void {
    for (const id of this.#reads.keys()) this.#unsure.add(id);
    if (this.presence.size === 0) return;
    this.presence = new Map();
    this.#core.changed('presence');
  }

  /** Updates lists that show this actor. */
  learned(actorId: string): void {
    if (this.#typing.has(actorId)) this.#typingChanged();
    if (this.#reads.has(actorId)) this.#readsChanged();
  }

  /** Ends all typing. */
  close(): void {
    this.forgetDeclared();
    for (const id of [...this.#typing.keys()]) this.stopTyping(id);
  }

  clear(): void {
    this.close();
    this.#reads.clear();
    this.#readsChanged();
    this.doubt();
  }

  #setTyping(id: string, isTyping: boolean): void {
    const wasTyping = this.#typing.has(id);
    this.#typing.get(id)?.();
    if (isTyping && id !== this.#core.host.actor()?.id) {
      this.#typing.set(
        id,
        this.#core.host.timing.after(TYPING_MS, () => this.#setTyping(id, false)),
      );
    } else this.#typing.delete(id);
    if (wasTyping !== this.#typing.has(id)) this.#typingChanged();
  }

  #setRead(id: string, sequence: number): void {
    this.#unsure.delete(id);
    if (this.#reads.get(id) === sequence) return;
    this.#reads.set(id, sequence);
    this.#readsChanged();
  }

  #typingChanged(): void {
    this.#shownTyping = undefined;
    this.#core.changed('typing');
  }

  #readsChanged(): void {
    this.#shownReads = undefined;
    this.#core.changed('reads');
  }

  /** Returns an actor without a name until it is known. */
  #actorOf(id: string): Actor {
    return this.#core.host.actors.get(id) ?? actorOf({ id, type: 'user' });
  }
}

/** Readers end an indicator this long after the last `start` (docs/realtime.md#events). */
const TYPING_MS = 8_000;
const DECLARE_TYPING_MS = 3_000;
