import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import type { Message, StreamingText } from '../../events/conversation-feed.ts';
import { type ListOrder, ListWindow } from '../../lists/list-window.ts';
import { withKnownResources, withSameParts } from '../../lists/same-parts.ts';
import { pagesOf } from '../../rest/pages.ts';
import type { Part } from './conversation-snapshot.ts';
import { allOf, LiveList, type LiveListHost } from './live-list.ts';
import type { ViewCore } from './view-core.ts';

type PartsCore = Pick<ViewCore, 'id' | 'path' | 'host' | 'begun' | 'timeline' | 'changed'>;

/** The state of a conversation beside its timeline: resource, pins, drafts and schedules. */
export class ConversationParts {
  readonly conversation: LiveList<Conversation>;
  readonly pins: LiveList<Pin>;
  readonly drafts: LiveList<ChatMessage>;
  readonly scheduled: LiveList<ChatMessage>;
  readonly #core: PartsCore;
  readonly #joined: (participants: readonly Participant[], isAll?: boolean) => void;

  /** `joined` is called with all participants that were read, or with one that has changed. */
  constructor(core: PartsCore, joined: (participants: readonly Participant[], isAll?: boolean) => void) {
    this.#core = core;
    this.#joined = joined;
    const { path, begun } = core;
    const { fetch, timing } = core.host;
    const list = <T extends object>(
      what: Part,
      keyOf: (item: T) => string,
      read: LiveListHost<T>['read'],
      order: ListOrder<T> = {},
    ) =>
      new LiveList(new ListWindow(keyOf, order), { begun, timing, read, changed: () => core.changed(what) });
    const unsent = (status: 'draft' | 'scheduled') =>
      allOf(pagesOf<ChatMessage>(fetch, `${path}/messages`, { status, ...WHOLE_PAGE }));
    const readConversation = async () => {
      const conversation = await fetch<Conversation>(`${path}${RESOURCE}`);
      joined(conversation.participants ?? [], true);
      // Pages show the drafts with the conversation: later ones would move its messages.
      await this.drafts.answer?.catch(() => {});
      return [conversation];
    };
    this.conversation = list<Conversation>('conversation', ({ id }) => id, readConversation);
    const readPins = () => allOf(pagesOf<Pin>(fetch, `${path}/pins`, WHOLE_PAGE));
    this.pins = list<Pin>('pins', ({ pinned_at, message_id }) => `${pinned_at} ${message_id}`, readPins, {
      idOf: ({ message_id }) => message_id,
    });
    const byCreation = ({ created_at, id }: ChatMessage) => `${created_at} ${id}`;
    this.drafts = list<ChatMessage>('drafts', byCreation, () => unsent('draft'), { isAscending: true });
    const byTime = ({ scheduled_at, id }: ChatMessage) => `${scheduled_at} ${id}`;
    this.scheduled = list<ChatMessage>('scheduled', byTime, () => unsent('scheduled'), { isAscending: true });
  }

  get #all() {
    return [this.conversation, this.pins, this.drafts, this.scheduled] as const;
  }

  receive(frame: EventOf): void {
    switch (frame.event) {
      case 'conversation.updated': {
        const { data } = frame;
        this.#patch((known) => ({ ...known, ...withExpansionsOf(known, data) }));
        // The event lacks what differs from reader to reader, such as `status`.
        this.conversation.reload();
        return;
      }
      case 'participant.added':
      case 'participant.updated':
      case 'participant.removed': {
        const isMember = frame.event !== 'participant.removed';
        const participant = frame.data;
        this.#patch((known) => ({
          ...known,
          participants: withParticipant(known.participants ?? [], participant, isMember),
        }));
        this.#joined([participant]);
        // The caller may have hidden the conversation.
        if (this.#isOwn(participant.actor_id)) this.conversation.reload();
        return;
      }
      case 'message.pinned': {
        const { message_id, pinned_by, pinned_at } = frame.data;
        const message = this.pins.get(message_id)?.message ?? this.#core.timeline.find(message_id);
        if (pinned_at !== null && message === undefined) this.pins.reload();
        else this.pinned({ object: 'pin', message_id, pinned_by, pinned_at, message: message! });
        return;
      }
      case 'draft.created':
      case 'draft.updated':
      case 'scheduled.updated':
        this.note(frame.data);
    }
  }

  /** Takes the newest state of a pin. */
  pinned(pin: Pin): void {
    this.pins.change((pins) => (pin.pinned_at === null ? pins.delete(pin.message_id) : pins.put(pin)));
  }

  /** Takes a newer state of a message into every list. */
  note(message: Message): void {
    const { id, status } = message;
    for (const [list, ofList] of [
      [this.drafts, 'draft'],
      [this.scheduled, 'scheduled'],
    ] as const) {
      if (status === ofList) list.change((all) => all.put(message));
      else if (list.get(id) !== undefined) list.change((all) => all.delete(id));
    }
    const pin = this.pins.get(id);
    if (pin === undefined) return;
    const noted = { ...pin, message: withPartsOf(pin.message, message) };
    this.pins.change((pins) => pins.put(noted));
  }

  /** Counts a sent message, unless it was counted when the conversation was read. */
  arrived({ kind, sent_at, created_at, author_id, sender }: Message): void {
    const at = sent_at ?? created_at;
    const isOwn = this.#isOwn(author_id ?? sender?.id);
    this.#patch((known) => {
      if (at <= (known.last_message_at ?? '')) return known;
      // Readers who are no members have nothing unread.
      const isRead = isOwn || known.last_read_sequence === null;
      // A message of another author ends the caller's snooze.
      const isAwake = !isOwn && kind !== 'system_event' && known.snoozed === true;
      return {
        ...known,
        last_message_at: at,
        unread: known.unread + (isRead ? 0 : 1),
        ...(isAwake && { snoozed: false, snoozed_until: null }),
      };
    });
  }

  /** Sets the caller's read position, with so many unread messages behind it. */
  read(sequence: number, unread: number): void {
    this.#patch((known) => ({ ...known, unread, last_read_sequence: sequence }));
  }

  /** Sets the text so far of a draft that is being streamed. */
  write({ messageId, body }: StreamingText): void {
    if (this.drafts.get(messageId)?.streaming_state !== 'streaming') return;
    this.drafts.change((all) => all.change(messageId, (known) => known && { ...known, body }));
  }

  /** Reads the known parts again: changes may be missing. */
  reload(): void {
    for (const list of this.#all) list.reload();
  }

  /** Forgets everything, for good. */
  clear(): void {
    for (const list of this.#all) list.clear();
  }

  /** Reads no more. */
  close(): void {
    for (const list of this.#all) list.close();
  }

  #isOwn(actorId: string | null | undefined): boolean {
    return actorId === this.#core.host.actor()?.id;
  }

  /** Changes the conversation, if it was read. */
  #patch(change: (known: Conversation) => Conversation): void {
    this.conversation.change((all) => all.change(this.#core.id, (known) => known && change(known)));
  }
}

/** Events show nothing expanded; what they name is known as long as it is the same. */
function withExpansionsOf(known: Conversation, data: EventOf<'conversation.updated'>['data']) {
  return {
    ...data,
    participants: known.participants,
    last_message: known.last_message,
    assignee: data.assignee_id === known.assignee_id ? known.assignee : null,
    group: data.group_id === known.group_id ? known.group : null,
    topic: data.topic_id === known.topic_id ? known.topic : null,
  };
}

function withParticipant(
  all: readonly Participant[],
  participant: Participant,
  isMember: boolean,
): Participant[] {
  const isKnown = all.some(({ id }) => id === participant.id);
  if (!isMember) return all.filter(({ id }) => id !== participant.id);
  if (!isKnown) return [...all, participant];
  return all.map((one) => (one.id === participant.id ? participant : one));
}

function withPartsOf(known: ChatMessage, message: ChatMessage): ChatMessage {
  if (message.updated_at < known.updated_at) return known;
  const sender = message.sender ?? known.sender;
  const attachments = withKnownResources(known.attachments, message.attachments);
  return withSameParts(known, { ...message, sender, attachments });
}

const RESOURCE = '?include[]=participants&include[]=assignee&include[]=group&include[]=topic';
const WHOLE_PAGE = { limit: 100, include: ['sender', 'attachments'] };
