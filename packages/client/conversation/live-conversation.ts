import type { List } from '@parley/protocol/lists.ts';
import type { PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type {
  ApproveDraftBody,
  ChatMessage,
  EditMessageBody,
  MessageInclude,
  MessageOutcome,
  MessageRevision,
  SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
import type {
  Participant,
  ParticipantInput,
  UpdateParticipantBody,
} from '@parley/protocol/resources/participant.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { Reaction } from '@parley/protocol/resources/reaction.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import type { ParleyError } from '../errors/parley-error.ts';
import type { CallOptions } from '../link/call-scope.ts';
import type { Conversations } from '../rest/conversations.ts';
import { type FetchOptions, pagesOf, type QueryValues, queryOf } from '../rest/pages.ts';
import { conversationPath, messagePath, participantPath } from '../rest/paths.ts';
import { randomId } from '../rest/rest.ts';
import type { AttachmentInput, UploadOptions } from '../rest/upload.ts';
import { handled } from '../timing/serial-queue.ts';
import type { ConversationHost } from './conversation-host.ts';
import { LiveThread, type ThreadOptions } from './live-thread.ts';
import { LiveTimeline, UNREAD } from './live-timeline.ts';
import { LiveWindow, type WindowOptions } from './live-window.ts';
import type { ForwardInput, HistoryFilter, MemberFilter, PageSize } from './view/conversation-queries.ts';
import {
  askingSnapshot,
  type ConversationEvents,
  type ConversationSnapshot,
  type ReadPosition,
} from './view/conversation-snapshot.ts';
import type { ConversationView } from './view/conversation-view.ts';
import type { TimelineMessage } from './view/timeline.ts';

/** The options of a conversation. */
export interface ConversationOptions {
  /** Messages of the first page and of each `loadOlder`; 30 by default, 100 at most. */
  readonly pageSize?: number;
}

/** The pages of a list, each requested when it is asked for. */
type Pages<T> = AsyncGenerator<List<T>, void, undefined>;

/**
 * A conversation as a page shows it: its newest messages, older ones on request, local echoes of
 * messages that are being sent, and the lists beside the timeline. `edit`, `delete`, `react`,
 * `unreact`, `pin` and `unpin` are shown at once, and taken back if they are refused; other changes
 * are shown when their event arrives. Methods reject as Client.fetch does unless they say more.
 */
export class LiveConversation extends LiveTimeline<
  ConversationSnapshot,
  ConversationView,
  ConversationEvents
> {
  #id: string;
  readonly #host: ConversationHost;

  /** Use Client.conversation. */
  constructor(id: string, host: ConversationHost, { pageSize = 30 }: ConversationOptions = {}) {
    super(NOTHING, host.timing, async (owner) => {
      const finding = host.ownIds.find(id).catch((error: ParleyError) => {
        // Its use is refused again, as that of an unknown id is.
        if (error.error) return id;
        throw error;
      });
      void handled(finding);
      const { ConversationView } = await import('./view/conversation-view.ts');
      const found = await finding;
      this.#id = found;
      const view = new ConversationView(found, host, owner, pageSize);
      view.releases.push(host.pages?.conversation(this, view.timeline));
      return view;
    });
    this.#id = id;
    this.#host = host;
  }

  /** The id of the conversation; the name `ext:…` that was given until the id is known. */
  get id(): string {
    return this.#id;
  }

  /** The server's messages, then local echoes, in order. The same array until something changes. */
  get messages(): readonly TimelineMessage[] {
    return this.snapshot.messages;
  }

  /** Whether `loadOlder` may find more. */
  get hasOlder(): boolean {
    return this.snapshot.hasOlder;
  }

  /** The other actors that are typing: `snapshot.typing`. */
  get typingActors(): readonly Actor[] {
    return this.snapshot.typing;
  }

  /** The presence of members, by the id of the actor: `snapshot.presence`. */
  get presence(): ReadonlyMap<string, PresenceStatus> {
    return this.snapshot.presence;
  }

  /** Read positions of the members, by the id of the actor. */
  get reads(): ReadonlyMap<string, ReadPosition> {
    return this.snapshot.reads;
  }

  /**
   * Drops all but so many of the newest messages, so that a page that stays open for days does not
   * grow. `loadOlder` reads them again.
   */
  readonly forgetOlder: (kept: number) => Promise<void> = this.via(
    'forgetOlder',
    ({ reader }: ConversationView) => reader,
  );

  /**
   * Sends a message, which is shown at once as `pending` under its `client_message_id`, until the
   * server has it (`sent`) or has definitely refused it (`failed`). The request is repeated after
   * lost connections; the message is sent once. Messages are sent one after another, in the order
   * of the calls. A message with `scheduled_at` and a draft (`mode`) are shown under `scheduled`
   * and `drafts` once the server has them. Rejects as Client.send does; the rejection may be
   * ignored, because `messages` shows it too.
   */
  readonly send: (body: string | SendMessageBody, options?: CallOptions) => Promise<ChatMessage> =
    this.via('send');

  /** Sends a failed message again. */
  readonly retry: (key: string) => Promise<ChatMessage> = this.via('retry', sending);

  /** Removes a failed message from `messages`. */
  readonly discard: (key: string) => void = this.via('discard', sending);

  /**
   * Uploads a file for an attachment of a later message, whose echo previews a picture. Rejects as
   * Client.upload does.
   */
  readonly upload: (
    file: Blob & { readonly name?: string },
    options?: UploadOptions,
  ) => Promise<AttachmentInput> = this.via('upload');

  /**
   * Changes an open draft or a message of the caller: its text, files, mentions or scheduled time.
   */
  readonly edit: (messageId: string, change: string | EditMessageBody) => Promise<ChatMessage> = this.via(
    'edit',
    changes,
  );

  /** Deletes a message, whose tombstone stays. */
  readonly delete: (messageId: string) => Promise<ChatMessage> = this.via('delete', changes);

  /** Adds the caller's reaction. Requires version 1.2.harbor. */
  readonly react: (messageId: string, emoji: string) => Promise<void> = this.via('react', changes);

  /** Takes the caller's reaction back. */
  readonly unreact: (messageId: string, emoji: string) => Promise<void> = this.via('unreact', changes);

  /** Lists the reactions to a message with their actors, oldest first. */
  readonly reactions: (
    messageId: string,
    filter?: PageSize & { readonly emoji?: string },
  ) => Pages<Reaction> = (id, filter) => this.#pages(messagePath(id, '/reactions'), filter);

  /** Pins a message in the conversation. Requires version 1.2.harbor. */
  readonly pin: (messageId: string) => Promise<Pin> = this.via('pin', changes);

  /** Unpins a message. */
  readonly unpin: (messageId: string) => Promise<Pin> = this.via('unpin', changes);

  /** Sends the content of a message to another conversation, or to this one. */
  readonly forward: (messageId: string, body: ForwardInput) => Promise<ChatMessage> = (id, body) =>
    this.#act(id, 'forward', { client_message_id: randomId(), ...body });

  /** Removes the content of a message for good, with a reason for the team and the audit. */
  readonly redact: (messageId: string, reason: string) => Promise<ChatMessage> = (id, reason) =>
    this.#act(id, 'redact', { reason });

  /** Lists the texts of a message before edits under legal hold, newest first. */
  readonly revisions: (messageId: string, filter?: PageSize) => Pages<MessageRevision> = (id, filter) =>
    this.#pages(messagePath(id, '/revisions'), filter);

  /** Takes back a scheduled message. `edit` changes its time, its text and its files. */
  readonly cancel: (messageId: string) => Promise<ChatMessage> = (id) => this.#act(id, 'cancel');

  /** Sends a scheduled message before its time. */
  readonly sendNow: (messageId: string) => Promise<ChatMessage> = (id) => this.#act(id, 'send-now');

  /**
   * Sends an open reply draft to the customer. Rejects with `resource_conflict` if the draft is no
   * longer the shown one, or if the customer has written since; `seen` replaces the shown state.
   */
  readonly approve: (messageId: string, seen?: ApproveDraftBody) => Promise<ChatMessage> =
    this.via('approve');

  /**
   * Discards an open reply draft. Its `outcome` has the reason, which requires version 1.3.harbor.
   */
  readonly reject: (messageId: string, reason?: string) => Promise<ChatMessage> = (id, reason) =>
    this.#act(id, 'reject', reason === undefined ? undefined : { reason });

  /** Returns the outcome of a draft or a scheduled message, with the reason. */
  readonly outcome: (messageId: string) => Promise<MessageOutcome> = (id) =>
    this.#host.fetch(messagePath(id, '/outcome'));

  /** Returns one message, whether shown or not. */
  readonly message: (messageId: string, include?: readonly MessageInclude[]) => Promise<ChatMessage> = (
    id,
    include,
  ) => this.#host.fetch(messagePath(id, queryOf({ include })));

  /** Lists messages in any state, newest first, or around a number. */
  readonly history: (filter?: HistoryFilter) => Pages<ChatMessage> = (filter) =>
    this.#pages(this.#path('/messages'), filter);

  /** Lists the files that were sent, newest first. */
  readonly files: (filter?: PageSize) => Pages<ConversationFile> = (filter) =>
    this.#pages(this.#path('/files'), filter);

  /** Call at each keystroke, with `false` for a removed text. Sends every 3 s at most. */
  readonly typing: (isTyping?: boolean) => void = this.via(
    'declareTyping',
    ({ activity }: ConversationView) => activity,
  );

  /** Moves the read position forward (default: newest message). Rejects as Client.request does. */
  readonly markRead: (sequence?: number) => Promise<void> = this.via('markRead');

  /** Marks a message and all after it unread again. Requires version 1.2.harbor. */
  readonly markUnread: (sequence: number) => Promise<void> = this.via('markUnread');

  /** Lists members in the order of joining, former ones too if asked for. */
  readonly members: (filter?: MemberFilter) => Pages<Participant> = (filter) =>
    this.#pages(this.#path('/participants'), filter);

  /** Returns a participant by its own id, which is not the id of its actor; also a former one. */
  readonly member: (participantId: string) => Promise<Participant> = (id) =>
    this.#host.fetch(this.#path(participantPath(id)));

  /** Adds a user, an agent or a customer. */
  readonly addMember: (member: ParticipantInput) => Promise<Participant> = (member) =>
    this.#conversations.addParticipant(this.id, member);

  /** Changes a participant's role, or when an agent answers. */
  readonly updateMember: (participantId: string, changes: UpdateParticipantBody) => Promise<Participant> = (
    id,
    body,
  ) => this.#conversations.updateParticipant(this.id, id, body);

  /** Removes a participant. */
  readonly removeMember: (participantId: string) => Promise<Participant> = (id) =>
    this.#conversations.removeParticipant(this.id, id);

  /** Mutes the conversation for the caller, until a time (RFC 3339) or until `unmute`. */
  readonly mute: (until?: string | null) => Promise<Participant> = this.via('mute');

  /** Ends the caller's mute. */
  readonly unmute: () => Promise<Participant> = this.via('unmute');

  /** Takes the caller out of the conversation. */
  readonly leave: () => Promise<Participant> = this.via('leave');

  /** Hides the conversation from the caller's list until the next message. */
  readonly hide: () => Promise<Conversation> = () => this.#conversations.hide(this.id);

  /** Shows a hidden conversation in the caller's list again. */
  readonly unhide: () => Promise<Conversation> = () => this.#conversations.unhide(this.id);

  /** Creates tokens with which the customer of a case reads and answers it; for backends. */
  readonly customerToken: (participantId: string) => Promise<Token> = (participant_id) =>
    this.#host.fetch(this.#path('/actions/customer-token'), { method: 'POST', body: { participant_id } });

  /** Opens the replies to a message, until `close()` of the thread or the conversation. */
  thread(messageId: string, { pageSize = 30 }: ThreadOptions = {}): LiveThread {
    return new LiveThread(messageId, this.#host.timing, this, async (owner) =>
      (await this.loaded).thread(messageId, pageSize, owner),
    );
  }

  /**
   * Opens the messages around a message, given by id or number, until `close()` of the window or
   * the conversation. New messages are added once `loadNewer` has reached the newest. Requires
   * version 1.2.harbor.
   */
  around(at: string | number, { pageSize = 50 }: WindowOptions = {}): LiveWindow {
    return new LiveWindow(this.#host.timing, async (owner) =>
      (await this.loaded).around(at, pageSize, owner),
    );
  }

  get #conversations(): Conversations {
    return this.#host.conversations;
  }

  #path(rest: string): string {
    return conversationPath(this.id, rest);
  }

  #pages<T>(path: string, filter: object = {}): Pages<T> {
    return pagesOf<T>(this.#host.fetch, path, { ...filter } as QueryValues);
  }

  #act(messageId: string, action: string, body?: object): Promise<ChatMessage> {
    const options: FetchOptions = { method: 'POST', ...(body && { body }) };
    return this.#host.fetch(messagePath(messageId, `/actions/${action}?include[]=sender`), options);
  }

  protected override takeSnapshot(): ConversationSnapshot {
    const snapshot = super.takeSnapshot();
    return snapshot === NOTHING ? askingSnapshot(NOTHING, this.via('ask')) : snapshot;
  }
}

/** The snapshot before anything is known. */
export const NOTHING: ConversationSnapshot = {
  ...UNREAD,
  conversation: null,
  typing: [],
  presence: new Map(),
  reads: new Map(),
  pins: [],
  drafts: [],
  scheduled: [],
  people: { get: () => undefined },
};

function changes({ changes }: ConversationView): ConversationView['changes'] {
  return changes;
}

function sending({ sending }: ConversationView): ConversationView['sending'] {
  return sending;
}
