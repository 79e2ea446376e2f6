import type {
  ApproveDraftBody,
  ChatMessage,
  SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import { ParleyError } from '../../errors/parley-error.ts';
import type { Message } from '../../events/conversation-feed.ts';
import type { CallOptions } from '../../link/call-scope.ts';
import { Gaps } from '../../live/gaps.ts';
import type { PartOwner } from '../../live/loaded-object.ts';
import { Outbox } from '../../outbox/outbox.ts';
import type { ParticipantChange } from '../../rest/conversations.ts';
import { conversationPath, messagePath, WHOLE } from '../../rest/paths.ts';
import { bodyOf } from '../../rest/rest.ts';
import type { AttachmentInput, UploadOptions } from '../../rest/upload.ts';
import { deferred } from '../../timing/deferred.ts';
import { onAbort } from '../../timing/on-abort.ts';
import type { ConversationHost } from '../conversation-host.ts';
import { Activity } from './activity.ts';
import { ConversationParts } from './conversation-parts.ts';
import {
  askingSnapshot,
  type ConversationEnd,
  type ConversationEvents,
  type ConversationSnapshot,
  endError,
  type Part,
  type ThreadEvents,
  type ThreadSnapshot,
  type WindowSnapshot,
} from './conversation-snapshot.ts';
import { PendingChanges } from './pending-changes.ts';
import { Quotes } from './quotes.ts';
import { ReadMark } from './read-mark.ts';
import { Sending } from './sending.ts';
import { ShownAtOnce } from './shown-at-once.ts';
import { ShownPeople } from './shown-people.ts';
import { ThreadView } from './thread-view.ts';
import { type SentMessage, Timeline } from './timeline.ts';
import { TimelineReader } from './timeline-reader.ts';
import type { TimelinePart, TimelineView } from './timeline-view.ts';
import type { ViewCore } from './view-core.ts';
import { WindowView } from './window-view.ts';

/**
 * An open conversation: its timeline, its open threads, and the parts beside them. It is subscribed
 * to before anything is loaded, so nothing is missed. LiveConversation describes the methods.
 */
export class ConversationView implements ViewCore, TimelinePart<ConversationSnapshot> {
  readonly id: string;
  readonly path: string;
  readonly host: ConversationHost;
  readonly begun: Promise<void>;
  readonly opened: Promise<void>;
  readonly timeline: Timeline;
  readonly pending: PendingChanges<SentMessage>;
  readonly #begun = deferred<void>();
  readonly sending: Sending;
  readonly changes: ShownAtOnce;
  readonly activity: Activity;
  readonly reader: TimelineReader;
  readonly #parts: ConversationParts;
  readonly #owner: PartOwner<ConversationSnapshot, ConversationEvents>;
  /** The threads and windows that are open. */
  readonly #opened = new Set<ThreadView | WindowView>();
  readonly #quotes: Quotes;
  readonly #mark = new ReadMark();
  readonly #people: ShownPeople;
  readonly #gaps: Gaps;
  /** Called at the end. */
  readonly releases: ((() => void) | undefined)[];
  /** The number after which messages arrive live. */
  #liveAfter = 0;
  /** The caller's read position; null if it is no member, undefined until either is known. */
  #position: number | null | undefined;
  #isClosed = false;

  constructor(
    id: string,
    host: ConversationHost,
    owner: PartOwner<ConversationSnapshot, ConversationEvents>,
    pageSize: number,
  ) {
    this.id = id;
    this.path = conversationPath(id);
    this.host = host;
    this.pending = new PendingChanges((): void => this.each((timeline) => timeline.touch()));
    this.#owner = owner;
    this.begun = this.#begun.promise;
    const timeline = this.#newTimeline(() => this.changed('messages'));
    this.timeline = timeline;
    this.#quotes = new Quotes(this);
    this.activity = new Activity(this);
    this.#parts = new ConversationParts(this, (...joined) => this.activity.join(...joined));
    const outbox = host.outbox((one) => new Outbox(one));
    this.changes = new ShownAtOnce(this, this.#parts, outbox);
    this.sending = new Sending(this, outbox);
    this.#people = new ShownPeople(host.actors);
    this.reader = new TimelineReader({
      core: this,
      timeline,
      pageSize,
      start: () => this.#liveAfter + 1,
      pathOf: (limit, before) =>
        `${this.path}/messages?before_sequence=${before}&limit=${limit}&${this.#shown}`,
      changed: (what) => this.changed(what),
      ended: (why) => this.#ended(why),
    });
    this.opened = this.reader.opened;
    // Read positions of others come in events that are not kept.
    this.#gaps = new Gaps(host, () => {
      this.#gaps.readBegan();
      this.#parts.conversation.reload();
    });
    const subscription = host.subscribe(id, {
      onBegin: (after) => {
        this.#liveAfter = after;
        this.#gaps.readBegan();
        this.#begun.resolve();
      },
      onMessage: (message) => this.#receive(message),
      onUpdate: (message) => this.update(message),
      onStreaming: (writing) => {
        this.each((shown) => shown.write(writing));
        this.#parts.write(writing);
      },
      onPurged: (through) => this.each((shown) => shown.drop(through)),
      onEvent: (frame) => this.#follow(frame),
      onStale: () => this.#reload(),
      onEnd: (why) => this.reader.endBy(why),
    });
    const { closing } = host;
    this.releases = [
      onAbort(closing, () => this.#begun.reject(closing.reason)),
      () => subscription.unsubscribe(),
      () => this.#gaps.close(),
      host.onTouched((touched, isRead) => {
        if (touched === id && !isRead) this.#parts.conversation.reload();
      }),
      host.actors.onLearned((actorId) => this.#learned(actorId)),
      host.onState((state) => {
        if (state === 'connecting' || state === 'offline') this.activity.doubt();
      }),
    ];
    owner.changed('people');
  }

  takeSnapshot(): ConversationSnapshot {
    const { conversation, pins, drafts, scheduled } = this.#parts;
    const { typing, presence, reads } = this.activity;
    const values = {
      ...this.reader.state,
      typing,
      presence,
      reads,
      messages: this.timeline.messages,
      conversation: conversation.items[0] ?? null,
      pins: pins.items,
      drafts: drafts.items,
      scheduled: scheduled.items,
      people: this.#people.value,
    };
    return askingSnapshot(values, (part) => this.ask(part));
  }

  /** Reads a part unless it was read. */
  ask(part: Part): void {
    this.#parts[part].ask();
  }

  send(body: string | SendMessageBody, options: CallOptions = {}): Promise<ChatMessage> {
    this.activity.forgetDeclared();
    return this.sending.send(bodyOf(body), options);
  }

  async upload(
    file: Blob & { readonly name?: string },
    options: UploadOptions = {},
  ): Promise<AttachmentInput> {
    const attachment = await this.host.upload(file, options);
    this.sending.uploaded(attachment, file);
    return attachment;
  }

  approve(messageId: string, seen: ApproveDraftBody = this.#seen(messageId)): Promise<ChatMessage> {
    const path = messagePath(messageId, `/actions/approve${WHOLE}`);
    return this.host.fetch<ChatMessage>(path, { method: 'POST', body: seen });
  }

  markRead(sequence: number = this.timeline.last?.sequence ?? 0): Promise<void> {
    return this.#mark.move(sequence, async () => {
      const { unread } = await this.host.request('mark_read', { conversation_id: this.id, sequence });
      this.#read(sequence, unread);
    });
  }

  async markUnread(sequence: number): Promise<void> {
    const { unread } = await this.host.conversations.markUnread(this.id, sequence);
    this.#mark.reset(sequence - 1);
    this.#read(sequence - 1, unread);
  }

  mute(until: string | null = null): Promise<Participant> {
    return this.#changeOwn({ notifications: 'muted', ...(until === null ? {} : { muted_until: until }) });
  }

  unmute(): Promise<Participant> {
    return this.#changeOwn({ notifications: 'unmuted' });
  }

  async leave(): Promise<Participant> {
    return this.host.conversations.removeParticipant(this.id, (await this.#own()).id);
  }

  thread(messageId: string, pageSize: number, owner: PartOwner<ThreadSnapshot, ThreadEvents>): ThreadView {
    const timeline = this.#newTimeline(() => owner.changed('root', 'messages'), messageId);
    timeline.copy(this.timeline);
    return this.#open(new ThreadView(this, owner, { messageId, pageSize, timeline, closed: this.#closed }));
  }

  around(at: string | number, pageSize: number, owner: PartOwner<WindowSnapshot, ThreadEvents>): WindowView {
    const timeline = this.#newTimeline(() => owner.changed('messages'));
    const closed = this.#closed;
    return this.#open(new WindowView(this, owner, { at, pageSize, timeline, shown: this.#shown, closed }));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.reader.isClosed = true;
    for (const release of this.releases) release?.();
    for (const view of [...this.#opened]) view.close();
    this.activity.close();
    this.#parts.close();
    this.changes.close();
    this.sending.close();
  }

  #open<View extends ThreadView | WindowView>(view: View): View {
    this.#opened.add(view);
    return view;
  }

  readonly #closed = (view: TimelineView): void => void this.#opened.delete(view as ThreadView);

  async #changeOwn(change: ParticipantChange): Promise<Participant> {
    return this.host.conversations.updateParticipant(this.id, (await this.#own()).id, change);
  }

  /** Returns the caller's own participant. Rejects with `resource_not_found` if there is none. */
  async #own(): Promise<Participant> {
    const { conversations } = this.host;
    const [known] = this.#parts.conversation.items;
    const { participants } = known ?? (await conversations.get(this.id, ['participants']));
    const ownId = this.host.actor()?.id;
    const own = participants?.find(({ actor, actor_id }) => (actor_id ?? actor?.id) === ownId);
    if (own !== undefined) return own;
    throw new ParleyError('resource_not_found', 'You are no member of the conversation.');
  }

  each(run: (timeline: Timeline) => void): void {
    run(this.timeline);
    for (const { timeline } of this.#opened) run(timeline);
  }

  quoteOf(id: string, given: ChatMessage | null): ChatMessage | null {
    return this.#quotes.of(id, given);
  }

  update(message: Message): void {
    const isGone = message.deleted_at !== null && this.timeline.find(message.id)?.deleted_at === null;
    this.each((timeline) => timeline.update(message));
    this.#quotes.note(message);
    this.#parts.note(message);
    // A deleted message counts neither as unread nor as the last message.
    if (isGone) this.#parts.conversation.reload();
  }

  changed(what: keyof ConversationSnapshot): void {
    if (what === 'conversation') this.#moveTo(this.#parts.conversation.items[0]?.last_read_sequence);
    this.#owner.changed(what);
  }

  readonly later = (work: () => void): void => {
    this.host.timing.after(AGAIN_MS, work);
  };

  get #shown(): string {
    return this.host.rest.including(SHOWN);
  }

  #newTimeline(changed: () => void, rootId: string | null = null): Timeline {
    const { actor } = this.host;
    const readThrough = () => (this.#position === null ? Infinity : (this.#position ?? 0));
    const quoteOf: ViewCore['quoteOf'] = (...quote) => this.#quotes.of(...quote);
    return new Timeline({ actor, readThrough, pending: this.pending, quoteOf, changed }, rootId);
  }

  #receive(message: Message): void {
    if (message.sender) this.activity.stopTyping(message.sender.id);
    this.each((timeline) => timeline.receive(message));
    this.#quotes.note(message);
    this.#parts.arrived(message);
  }

  #follow(frame: EventOf): void {
    switch (frame.event) {
      case 'typing':
      case 'presence':
        this.activity.receive(frame);
        return;
      case 'read':
        this.activity.receive(frame);
        if (frame.data.actor_id === this.host.actor()?.id) this.#read(frame.data.sequence);
        return;
      case 'message.reacted':
        this.each((timeline) => timeline.react(frame.data.message_id, frame.data.reactions));
        return;
      default:
        this.#parts.receive(frame);
        this.#owner.emit('event', frame);
    }
  }

  /** Moves the caller's read position. `unread`: the server's count behind it, if known. */
  #read(sequence: number, unread?: number): void {
    this.#moveTo(sequence);
    const { first } = this.timeline;
    const isCovered = !this.reader.hasOlder || (first !== undefined && first.sequence! <= sequence + 1);
    const count = unread ?? (isCovered ? this.timeline.unreadAfter(sequence) : undefined);
    if (count === undefined) this.#parts.conversation.reload();
    else this.#parts.read(sequence, count);
  }

  /** Sets the caller's position, which the counts of threads follow. */
  #moveTo(position: number | null | undefined): void {
    const before = this.#position;
    if (position === undefined || position === before) return;
    this.#position = position;
    this.each((timeline) => timeline.positionMoved());
    // Only the server knows how many replies are unread again (none without membership).
    if (before !== undefined && (position ?? Infinity) < (before ?? Infinity)) this.#reread();
  }

  #learned(actorId: string): void {
    this.activity.learned(actorId);
    this.#quotes.learned(actorId);
    if (this.#people.learned(actorId)) this.changed('people');
  }

  #seen(draftId: string): ApproveDraftBody {
    const draft = this.#parts.drafts.get(draftId);
    const last = this.reader.status === 'loading' ? undefined : (this.timeline.last?.sequence ?? 0);
    // JSON has no field for what is undefined.
    return { if_version: draft?.updated_at, if_last_sequence: last } as ApproveDraftBody;
  }

  /** Reads again after a gap. */
  #reload(): void {
    this.#parts.reload();
    this.#reread();
  }

  #reread(): void {
    this.reader.reload();
    for (const { reader } of this.#opened) reader.reload();
  }

  #ended(why: ConversationEnd): void {
    this.#begun.reject(endError(why));
    for (const { reader } of [...this.#opened]) reader.endBy(why);
    this.close();
    this.#quotes.clear();
    this.activity.clear();
    this.#parts.clear();
    this.#owner.emit('end', why);
  }
}

/** The sub-objects that pages draw. */
const SHOWN = ['sender', 'attachments', 'reactions', 'reply_to', 'thread'] as const;
const AGAIN_MS = 5_000;
