import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';
import type { Whereabouts } from '../../api/access/account-moves.ts';
import type { Authenticator } from '../../api/access/authenticate.ts';
import type { RateLimits } from '../../api/access/rate-limit.ts';
import type { Rights } from '../../api/access/rights.ts';
import type { ErrorMapper } from '../../api/pipeline/failure.ts';
import type { ConversationDirectory } from '../../core/conversations/directory/directory.ts';
import type { Engine } from '../../core/frames/engine.ts';
import type { Timeline } from '../../core/messages/timeline/timeline.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Exchange } from '../../platform/http/exchange.ts';
import type { AllowedOrigins } from '../../platform/http/origins.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Logger } from '../../platform/log.ts';
import type { GatewayMetrics } from './metrics.ts';

/** The parts of a node that the gateway uses. Each of its parts picks its own from here. */
export interface NodeOptions {
  readonly database: Database;
  readonly files: Downloads;
  readonly engine: Engine;
  readonly rights: Rights;
  readonly authenticator: Authenticator;
  readonly whereabouts: Pick<Whereabouts, 'explain'>;
  readonly rateLimits: RateLimits;
  readonly directory: ConversationDirectory;
  readonly timeline: Timeline;
  readonly http: Pick<HttpServer, 'ws' | 'receive' | 'numSubscribers' | 'publish'>;
  /** Answers a request that is not upgraded with the error envelope, whatever was thrown. */
  readonly refuse: (exchange: Exchange, thrown: unknown) => void;
  readonly failures: ErrorMapper;
  readonly origins: Pick<AllowedOrigins, 'require'>;
  readonly limits: SocketLimits;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  /** Other nodes that share the limit of an actor's sockets. */
  readonly siblings?: Siblings;
}

interface Siblings {
  /** Reports how many sockets the actor has at this node. */
  countSockets(actorId: string, count: number): void;
  /** Returns whether the actor has as many sockets as it may, at all nodes. */
  isFull(actorId: string): boolean;
}
