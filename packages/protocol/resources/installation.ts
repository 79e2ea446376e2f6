import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf, Timestamp } from '../schema/schema.ts';

/** The operators' view of the whole installation (docs/contract.md#the-installation). */

/** For how long nodes keep their figures, in seconds. */
export const FIGURES_KEPT_S = 600;

/** The figures of one node over some seconds. Times are by the node's clock. */
export const NodeFigures = Type.Object({
  at: Timestamp,
  sockets: Type.Integer({ minimum: 0 }),
  sends_per_second: Type.Number({ minimum: 0 }),
  deliveries_per_second: Type.Number({ minimum: 0 }),
  send_p50_ms: Nullable(Type.Number({ minimum: 0 })),
  send_p99_ms: Nullable(Type.Number({ minimum: 0 })),
  event_loop_p99_ms: Type.Number({ minimum: 0 }),
  outbox_lag_seconds: Type.Number({ minimum: 0 }),
  memory_bytes: Type.Integer({ minimum: 0 }),
});
export type NodeFigures = Static<typeof NodeFigures>;

describe(NodeFigures, {
  at: 'When the node took the figures, by its own clock. Nodes take them every two seconds.',
  sockets: 'Open sockets of the node.',
  sends_per_second: 'Messages that the node committed a second, since the figures before.',
  deliveries_per_second:
    'Frames that the node handed to its sockets a second, since the figures before: one for each conversation and audience, however many sockets take it.',
  send_p50_ms:
    'Half of the sends of the last ten seconds were answered within this time. Null if there were none.',
  send_p99_ms: 'The same for 99 of 100 sends.',
  event_loop_p99_ms:
    'How late work of the node began since the figures before: the 99th percentile. What is above 100 ms is felt by people.',
  outbox_lag_seconds: 'Age of the oldest committed event of the installation whose effects are not done yet.',
  memory_bytes: 'Memory of the process that is in RAM.',
});

const NODE_STATES = ['up', 'leaving', 'silent'] as const;
const LINK_STATES = ['up', 'away'] as const;

export const InstallationNode = Type.Object({
  object: Type.Literal('installation_node'),
  id: Type.String(),
  state: OneOf(NODE_STATES),
  answers: Type.Boolean(),
  release: Type.String(),
  node_version: Type.String(),
  started_at: Timestamp,
  silent_seconds: Type.Integer({ minimum: 0 }),
  postgres: Type.String(),
  redis: Nullable(OneOf(LINK_STATES)),
  files: Type.String(),
  figures: Type.Array(NodeFigures),
});
export type InstallationNode = Static<typeof InstallationNode>;

describe(InstallationNode, {
  id: 'Id of the node, new with each of its starts.',
  state:
    '`leaving`: it is being stopped. `silent`: its figures have not arrived for ten seconds, so it ended without notice, or its link to Redis is away.',
  answers: 'Whether this node answered the request.',
  release: 'The version of Parley that the node runs.',
  node_version: 'The version of Node that it runs on.',
  started_at: 'When it was started, by its own clock.',
  silent_seconds: 'For how long the node that answered has heard nothing of it.',
  postgres:
    '`up` or `away`; where Postgres refuses changes, why: `disk_full`, `out_of_memory` or `too_many_connections`. The set may grow.',
  redis: 'Whether its link to Redis is proven. Null if the installation runs without Redis.',
  files:
    '`up`, or `disk_full`: the disk with the files of messages takes none. `elsewhere`: they are in object storage. The set may grow.',
  figures: 'Its figures over the last seconds, as many as `history_seconds` asks for, oldest first.',
});

const CHECK_STATES = ['ok', 'attention'] as const;

export const InstallationCheck = Type.Object({
  object: Type.Literal('installation_check'),
  name: Type.String(),
  state: OneOf(CHECK_STATES),
  message: Type.String(),
  docs_url: Type.String(),
});
export type InstallationCheck = Static<typeof InstallationCheck>;

describe(InstallationCheck, {
  name: 'What was checked, such as `postgres`. The set may grow.',
  state: '`attention`: an operator has something to do, which `message` says.',
  message: 'A sentence for people.',
  docs_url: 'The section of the operations page about it.',
});

export const Installation = Type.Object({
  object: Type.Literal('installation'),
  nodes: Type.Array(InstallationNode),
  checks: Type.Array(InstallationCheck),
});
export type Installation = Static<typeof Installation>;

describe(Installation, {
  nodes: 'The nodes, the oldest first. Those that have been silent for ten minutes are left out.',
  checks: 'What was checked, always in the same order.',
});
