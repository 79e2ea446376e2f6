import type { ChangeEventName } from '@parley/protocol/socket/events.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Authenticator } from '../../api/access/authenticate.ts';
import type { RateLimits } from '../../api/access/rate-limit.ts';
import type { Rights } from '../../api/access/rights.ts';
import type { Tokens } from '../../api/access/tokens.ts';
import type { Http } from '../../api/pipeline/pipeline.ts';
import type { PublicRoutes } from '../../api/pipeline/public-routes.ts';
import type { Route } from '../../api/pipeline/route.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { DueWatch } from '../../platform/db/queue/due-watch.ts';
import type { TopicHandler } from '../../platform/db/queue/topic.ts';
import { type Entries, Hooks } from '../../platform/hooks.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { TlsTexts } from '../../platform/http/tls-files.ts';
import type { Disposer } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { AddressGuard } from '../../platform/outbound/address-guard.ts';
import type { Avatars } from '../accounts/avatars/avatars.ts';
import type { ObjectStore } from '../attachments/storage.ts';
import type { SigningKey } from '../audit/signing-key.ts';
import type { ConversationDirectory } from '../conversations/directory/directory.ts';
import type { ConversationCreated, ConversationDeleted } from '../conversations/outbox-topics.ts';
import type { Change, ResourcesChanged } from '../events/changes.ts';
import type { Engine } from '../frames/engine.ts';
import type { DomainEvent } from '../frames/publish.ts';
import type { Check } from '../installation/check.ts';
import type { ContentChanged } from '../messages/outbox-topics.ts';
import type { ImportedWrites } from '../messages/timeline/imported-write.ts';
import type { LockedWrites } from '../messages/timeline/locked-write.ts';
import type { CommittedMessage } from '../messages/timeline/outgoing.ts';
import type { Timeline } from '../messages/timeline/timeline.ts';
import type { WritePath } from '../messages/timeline/write-path.ts';
import type { CoreMetrics } from '../metrics.ts';
import type { SettingsOfUsers } from '../notifications/settings/settings.ts';
import type { MessageWithParts } from '../resources/message.ts';
import type { NotificationRow } from '../resources/notification.ts';
import type { AccountEvent } from './account-event.ts';
import type { NodeSettings } from './node-settings.ts';

/**
 * Everything that the rest of a node uses of a folder of features/. A node without the feature
 * lacks it in the list (app/features.ts).
 */
export interface Feature {
  /** The hooks that it adds (platform/hooks.ts). The handles of the database carry all entries. */
  readonly hooks?: Entries;
  /**
   * Opens its part of a node, before anything can write into the outbox; it is closed after the
   * handlers of the outbox.
   */
  open(node: NodeParts): Opened | Promise<Opened>;
}

/** Returns the hooks of these features, in the order of the list. */
export function hooksOf(features: readonly Feature[]): Hooks {
  return new Hooks(features.map(({ hooks = {} }) => hooks));
}

/** The parts of a node that exist before anything can be sent. */
export interface NodeParts {
  readonly config: NodeSettings;
  readonly log: Logger;
  readonly metrics: Metrics & CoreMetrics;
  /** Parts are registered in the order in which they start. */
  readonly disposer: Disposer;
  readonly urls: { readonly public: string };
  /** Decides which hosts this node may connect to. */
  readonly guard: AddressGuard;
  readonly database: Database;
  readonly watch: DueWatch;
  readonly engine: Engine;
  readonly store: ObjectStore;
  readonly avatars: Avatars;
  readonly signingKey: SigningKey;
  readonly rights: Rights;
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly rateLimits: RateLimits;
  readonly directory: ConversationDirectory;
  readonly settings: SettingsOfUsers;
}

export interface Opened {
  readonly effects?: Effects;
  /**
   * Reads the listeners to events (core/accounts/account/listeners.ts) again, first before the
   * start.
   */
  renew?(): Promise<void>;
  /** Opens the parts that write messages or are called over HTTP. */
  join(core: Core): Joined | Promise<Joined>;
}

/** The paths by which messages enter timelines. */
export interface Core {
  readonly timeline: Timeline;
  readonly writePath: Pick<WritePath, 'append'>;
  readonly lockedWrites: LockedWrites;
  readonly importedWrites: ImportedWrites;
  /** Returns every endpoint of the node, once all features have joined. */
  routes(): readonly Route[];
  /** Passes an account event to every feature. `isRepeated`: it may have been passed before. */
  happened(event: AccountEvent, isRepeated: boolean): Promise<void>;
}

export interface Joined {
  /** Keyed by the endpoint of the core that they follow in the table. */
  readonly routes?: Readonly<Partial<Record<RoutePlace, readonly Route[]>>>;
  readonly publicRoutes?: PublicRoutes;
  /** Handlers of the feature's outbox topics. */
  readonly handlers?: readonly TopicHandler[];
  /** Checks for problems that need an operator. */
  readonly checks?: readonly Check[];
  /** Handlers of the feature's tasks in the job queue. */
  readonly jobs?: readonly TopicHandler[];
  /** Removes old data; called every hour. */
  tidy?(): Promise<void>;
  /** Called once the API can be called. */
  serve?(serving: { readonly http: Http; readonly server: HttpServer }): void;
  /** Called once the node serves connections. */
  listen?(): Promise<void>;
  /** Secures new connections with this certificate. */
  renewCertificate?(certificate: TlsTexts): void;
  /** Starts nothing more; work under way has `ms` to finish. */
  drain?(ms: number): Promise<void>;
}

export type RoutePlace = 'audit' | 'messages' | 'attachments' | 'settings';

/** The effects of commits. Called before the outbox row is deleted, so possibly twice for a row. */
export interface Effects {
  /** For messages in the timeline. Returns undefined if there is nothing to wait for. */
  sent?(messages: readonly SentMessage[], isRepeated: boolean): Promise<void> | undefined;
  /** For complete messages: sent messages, and messages whose streaming has ended. */
  completed?(messages: readonly SentMessage[]): Promise<void>;
  /** For new notifications, in groups of one account each; returns as `sent` does. */
  notified?(groups: readonly (readonly NotificationRow[])[]): Promise<void> | undefined;
  /** For changes that share an event, with their published events. */
  published?(
    events: readonly DomainEvent[],
    changes: readonly Change<ChangeEventName>[],
    isRepeated: boolean,
  ): Promise<void>;
  changed?(changes: ResourcesChanged): Promise<void>;
  conversationCreated?(created: ConversationCreated, isRepeated: boolean): Promise<void>;
  conversationDeleted?(deleted: ConversationDeleted): Promise<void>;
  messageDeleted?(deleted: ContentChanged): Promise<void>;
  rightsChanged?(subjects: readonly string[]): Promise<void>;
  happened?(event: AccountEvent, isRepeated: boolean): Promise<void>;
}

/** A message, with the trace of the request that sent it, if known. */
export type SentMessage = MessageWithParts &
  Pick<CommittedMessage, 'rosterVersion'> & { readonly trace?: TraceContext | undefined };
