import type { List } from '@parley/protocol/lists.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { MessageInclude } from '@parley/protocol/resources/chat-message.ts';
import type { ConversationInclude } from '@parley/protocol/resources/conversation.ts';
import type { Import } from '@parley/protocol/resources/import.ts';
import type { Me, UpdateMeBody } from '@parley/protocol/resources/me.ts';
import type {
  NotificationSettings,
  SetNotificationSettingsBody,
} from '@parley/protocol/resources/notification-settings.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import type { SearchHit, SearchType } from '@parley/protocol/resources/search-hit.ts';
import { Push } from './push/push.ts';
import { Conversations } from './rest/conversations.ts';
import type { ArchiveFacts, ImportOptions } from './rest/import-archive.ts';
import { type Fetch, pagesOf } from './rest/pages.ts';
import type { TypedFetch } from './rest/typed-fetch.ts';
import type { AttachmentInput, UploadOptions } from './rest/upload.ts';
import { Runs } from './runs/runs.ts';

/** The query of List People. */
export interface PeopleFilter {
  /** Words of the name or handle. */
  readonly q?: string;
  /** 25 by default, 100 at most. */
  readonly limit?: number;
}

/** The query of Search. All filters but `include` and `limit` are for messages. */
export interface SearchFilter {
  /** `messages` by default. */
  readonly type?: SearchType;
  /** Only messages of this conversation. */
  readonly conversation_id?: string;
  /** Only messages of this actor, or `me`. */
  readonly author_id?: string;
  /** Only messages that were sent before this time (RFC 3339). */
  readonly before?: string;
  /** Only messages that were sent after this time (RFC 3339). */
  readonly after?: string;
  /** Only messages with a file. */
  readonly has?: 'file';
  /** 25 by default, 100 at most. */
  readonly limit?: number;
  /** Sub-objects of the hits to expand; others are null. */
  readonly include?: readonly (MessageInclude | ConversationInclude)[];
}

/** The changes of Client.updateMe; absent fields stay. */
export interface ProfileChange {
  /** The new name of the person. */
  readonly name?: string;
  /** The new picture; null for none. */
  readonly avatar?: (Blob & { readonly name?: string }) | null;
}

/** The methods of a client that use only REST. All methods reject as `fetch` does. */
export abstract class Api {
  /** `fetch` for the SDK's own requests, which state the type of the answer. */
  protected readonly ask: Fetch = (path, options) => (this.fetch as Fetch)(path, options);
  /** The conversations that the caller may read, with the methods on them. */
  readonly conversations: Conversations = new Conversations(this.ask, (id) => this.touched(id));
  /** The runs of agents; `run` follows one. */
  readonly runs: Runs = new Runs(this.ask);
  /** Notifications in this browser while no page is open. */
  readonly push: Push = new Push(this.ask, () => this.actor);

  /** The caller; undefined until the first connection. */
  abstract get actor(): Actor | undefined;

  /**
   * Sends a JSON request to a path of the API, such as `/v1/messaging/notifications`, with the
   * client's credential, version and account. Tries at most five times; each try has the same
   * Idempotency-Key, so a change happens once. Rejects with ParleyError, or as
   * CallOptions say.
   */
  abstract readonly fetch: TypedFetch;

  /** Uploads a file for an attachment of a later message. Rejects as `fetch` does. */
  abstract readonly upload: (
    file: Blob & { readonly name?: string },
    options?: UploadOptions,
  ) => Promise<AttachmentInput>;

  /**
   * Imports an archive of another service: uploads it in parts, each in up to three tries, and
   * starts the import, which `GET /v1/imports/{id}` shows. For admin roles. Rejects as `fetch`
   * does; `resume` continues an import whose upload was broken off.
   */
  abstract readonly importArchive: (
    file: Blob,
    facts: ArchiveFacts,
    options?: ImportOptions,
  ) => Promise<Import>;

  /** Notes that a request has changed the conversation. */
  protected abstract touched(conversationId: string, isRead?: boolean): void;

  /** Returns the caller. Requires version 1.2.harbor, as the other methods here do. */
  me(): Promise<Me> {
    return this.fetch<Me>('/v1/me');
  }

  /**
   * Changes the caller's own name or picture: a PNG, JPEG, GIF or WebP of at most 2 MiB, or null
   * for none.
   */
  async updateMe({ name, avatar }: ProfileChange): Promise<Me> {
    const uploaded = avatar && (await this.upload(avatar));
    const key = avatar === null ? null : uploaded?.s3_key;
    const body: { [field in keyof UpdateMeBody]: UpdateMeBody[field] | undefined } = {
      name,
      avatar_s3_key: key,
    };
    return this.fetch<Me>('/v1/me', { method: 'PATCH', body });
  }

  /** Returns what the caller wants to be notified of, and when. */
  notificationSettings(): Promise<NotificationSettings> {
    return this.fetch<NotificationSettings>(SETTINGS);
  }

  /** Replaces all settings; absent fields get their defaults. */
  setNotificationSettings(settings: SetNotificationSettingsBody): Promise<NotificationSettings> {
    return this.fetch<NotificationSettings>(SETTINGS, { method: 'PUT', body: settings });
  }

  /** Yields pages of the users and agents whom the caller may write to. */
  people(filter: PeopleFilter = {}): AsyncGenerator<List<Person>, void, undefined> {
    return pagesOf<Person>(this.ask, '/v1/messaging/people', { ...filter });
  }

  /** Yields pages of matches, best first: messages, or conversations by title and members. */
  search(q: string, filter: SearchFilter = {}): AsyncGenerator<List<SearchHit>, void, undefined> {
    return pagesOf<SearchHit>(this.ask, '/v1/messaging/search', { q, ...filter });
  }
}

const SETTINGS = '/v1/messaging/notification-settings';
