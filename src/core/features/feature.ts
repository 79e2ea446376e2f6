import type { EmailVerdict } from '@parley/protocol/resources/email.ts';
import type { ImportReport, ImportSource } from '@parley/protocol/resources/import.ts';
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
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import type { DueWatch } from '../../platform/db/queue/due-watch.ts';
import type { TopicHandler } from '../../platform/db/queue/topic.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { TlsTexts } from '../../platform/http/tls-files.ts';
import type { Disposer } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { AddressGuard } from '../../platform/outbound/address-guard.ts';
import type { AccountRow } from '../accounts/account/accounts.ts';
import type { Avatars } from '../accounts/avatars/avatars.ts';
import type { ObjectStore } from '../attachments/storage.ts';
import type { SigningKey, TrustedKeys } from '../audit/signing-key.ts';
import type { ConversationDirectory } from '../conversations/directory/directory.ts';
import type { ConversationCreated, ConversationDeleted } from '../conversations/outbox-topics.ts';
import type { PlacedGuide } from '../documents/guides.ts';
import type { Change, ResourcesChanged } from '../events/changes.ts';
import type { EventSource } from '../events/event-source.ts';
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
import type { Holdings } from '../resources/holdings.ts';
import type { MailboxRow } from '../resources/mailbox.ts';
import type { MessageWithParts } from '../resources/message.ts';
import type { NotificationRow } from '../resources/notification.ts';
import type { AccountEvent, ReadEventData } from './account-event.ts';
import type { NodeSettings } from './node-settings.ts';

/**
 * Everything that the rest of a node uses of a folder of features/. A node without the feature
 * lacks it in the list (app/features.ts). Each field says what holds if no feature has it.
 */
export interface Feature {
  /** Sources of durable events; events without one are not published. */
  readonly events?: readonly EventSource[];
  /**
   * Reads the data of account events again, by their type; `*` stands for the types that
   * applications name. Events of a type without an entry are not delivered.
   */
  readonly eventData?: Readonly<Record<string, ReadEventData>>;
  /** Outbox topics whose rows become account events, for the proof of completeness. */
  readonly eventTopics?: readonly string[];
  readonly holdings?: Holdings;
  /** Its name in `settings`, for triggers that leave notes only where a node has the feature. */
  readonly setting?: string;
  /** Reads a mail for the model of a run that it started; without it the run gets the mail's id. */
  mailContent?(db: Db, id: string): Promise<MailContent | undefined>;
  /** Returns the digest that waits for a user, or undefined. */
  digestOf?(db: Db, userId: string): Promise<Digest | undefined>;
  /** Returns the digests that wait, oldest first, for a command that lists them. */
  waitingDigests?(db: Db, limit: number): Promise<readonly WaitingDigest[]>;
  /** Returns whether a node with this configuration sends mail; without it none does. */
  sendsMail?(config: NodeSettings): boolean;
  /**
   * Writes the mail that confirms an address (address-mail.ts), or returns undefined if it is not
   * wanted any more. Without it such mails are canceled.
   */
  confirmationMail?(db: Db, confirmationId: string, publicUrl: string): Promise<MailText | undefined>;
  /** Starts removing an account, which running nodes complete; without it there is no removal. */
  readonly accountRemoval?: AccountRemoval;
  /** Moves accounts between installations (docs/operations.md#moving-an-account). */
  readonly accountMoves?: AccountMoves;
  /** Checks an export offline. */
  verifyExport?(file: string, keys: TrustedKeys): Promise<object>;
  providers?(config: NodeSettings): readonly string[];
  /** Imports an archive of this machine in the process of a command (features/import/). */
  importArchive?(node: ImportingParts, request: ArchiveToImport): Promise<ImportedArchive>;
  /** Adds its part to the demo account. */
  readonly demo?: DemoParts;
  /** The file with the texts of its operations (core/documents/operation-texts.ts). */
  readonly operations?: URL;
  /** Its guide, which a node without the feature does not serve. */
  readonly guide?: PlacedGuide;
  /**
   * Opens its part of a node, before anything can write into the outbox; it is closed after the
   * handlers of the outbox.
   */
  open(node: NodeParts): Opened | Promise<Opened>;
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
   * Reads again what listens to events (core/accounts/account/listeners.ts), first before the
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
  /** What of the feature may need an operator. */
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
  /** For complete messages: those that were sent, and those whose streaming has ended. */
  completed?(messages: readonly SentMessage[]): Promise<void>;
  /** For new notifications, in groups of one account each; returns as `sent` does. */
  notified?(groups: readonly (readonly NotificationRow[])[]): Promise<void> | undefined;
  /** For changes that all have the same event, with what was published of them. */
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

export interface MailContent {
  readonly from_name: string | null;
  readonly from_address: string | null;
  readonly subject: string | null;
  readonly verdict: EmailVerdict | null;
  /** The whole text, quotes and signature included. */
  readonly body_text: string | null;
}

interface WaitingDigest {
  readonly id: string;
  /** The user that it is for. */
  readonly actor_id: string;
  /** Newest first. */
  readonly notification_ids: readonly string[];
}

/** A mail about unseen notifications that waits for its transport. */
export interface Digest {
  readonly id: string;
  /** Returns undefined if nothing in it is unseen. */
  write(): Promise<MailText | undefined>;
  /** Removes from the digest what its mail contained. */
  settle(tx: Tx): Promise<void>;
}

export interface AccountRemoval {
  /**
   * Throws if the account cannot be removed: a legal hold, or rows of a feature that is missing.
   */
  check(tx: Tx, accountId: string): Promise<void>;
  /** Throws as `check` does. */
  begin(tx: Tx, accountId: string): Promise<AccountRow>;
}

/** The parts of a process that imports an archive and serves nothing. */
export interface ImportingParts extends Pick<NodeParts, 'database' | 'store' | 'guard' | 'log'> {
  readonly config: Pick<NodeSettings, 'dataDir'>;
  readonly importedWrites: ImportedWrites;
}

export interface ArchiveToImport {
  readonly accountId: string;
  readonly source: ImportSource;
  /** The path of the archive. */
  readonly archive: string;
  readonly options: ImportOptions;
  /** Called with how much of the archive was read, in bytes. */
  readonly progress: (done: number, total: number) => void;
  /** Aborts to pause: the same call goes on where it stopped. */
  readonly signal: AbortSignal;
}

export interface ImportOptions {
  /** Tells servers of the same kind apart. */
  readonly origin?: string;
  /** Makes addresses of user names in archives without addresses. */
  readonly email_domain?: string;
  readonly emails_verified?: boolean;
  /** A secret; removed when the import ends. */
  readonly file_token?: string;
}

export interface ImportedArchive {
  readonly report: ImportReport;
  /** Why it failed, as a sentence; null otherwise. */
  readonly message: string | null;
}

/** A mail without its addresses. */
export interface MailText {
  /** A single line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The parts that features add to the demo account; without them it has ids that name nothing. */
export interface DemoParts {
  agent?(tx: Tx, agent: DemoAgent): Promise<{ readonly id: string; readonly actorId: string }>;
  /** Adds an inbox; rejects if its address is taken. */
  inbox?(
    tx: Tx,
    inbox: Pick<MailboxRow, 'account_id' | 'created_by' | 'name' | 'address'>,
  ): Promise<{ readonly id: string }>;
  /** Returns the identity provider of customers with this issuer, which it makes if need be. */
  shopIssuer?(tx: Tx, issuer: DemoIssuer): Promise<{ readonly id: string; readonly secret: string | null }>;
  /** Returns a widget that pages of the site embed: the one of this id, while it is there. */
  shopWidget?(tx: Tx, widget: DemoWidget, id: string | undefined): Promise<{ readonly id: string }>;
  /** Writes the mail of a message. A sent one is complete, so none leaves this server. */
  mail?(tx: Tx, mail: DemoMail): Promise<void>;
  /** Called after a run that has ended was written. */
  ended?(tx: Tx, runId: string): Promise<void>;
}

export interface DemoAgent {
  readonly accountId: string;
  readonly roleId: string;
  readonly name: string;
  readonly slug: string;
}

/** Tokens name customers by their `external_id`, and are signed by HS256. */
export interface DemoIssuer {
  readonly account_id: string;
  readonly created_by: string;
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  /** Of a new one. */
  readonly secret: string;
}

export interface DemoWidget {
  readonly account_id: string;
  readonly created_by: string;
  readonly name: string;
  readonly identity_provider_id: string | null;
  readonly site: string;
}

export interface DemoMail {
  readonly id: string;
  readonly message: {
    readonly id: string;
    readonly account_id: string;
    readonly conversation_id: string;
    readonly author_id: string | null;
  };
  readonly inbox: { readonly id: string; readonly address: string };
  readonly customer: { readonly name: string; readonly email: string };
  /** The subject of the case. */
  readonly subject: string;
  readonly text: string;
  /** Null for our answer; else the mail came in. */
  readonly html: string | null;
  readonly minutesAgo: number;
}

export interface AccountMoves {
  /** Moves an account to `target`, or goes on with a move. */
  move(options: MoveOptions): Promise<MovedAccount>;
  /** Gives a move up that has not arrived. */
  cancel(options: MoveOptions): Promise<void>;
}

/** What a move uses of an installation. */
export interface CellParts {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly signingKey: SigningKey;
  /** The address of the cell, without a trailing slash. */
  readonly url: string;
}

export interface MoveOptions {
  readonly source: CellParts;
  readonly target: CellParts;
  readonly accountId: string;
  readonly log: Logger;
}

export interface MovedAccount {
  readonly account_id: string;
  /** 1 for the first move of the account. */
  readonly number: number;
  /** Addresses of cells. */
  readonly from: string;
  readonly to: string;
  readonly rows: number;
  readonly files: number;
  /** Milliseconds in which changes of the account were answered with 503. */
  readonly refused_ms: number;
}
