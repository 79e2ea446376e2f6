import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type GatewayMetrics = ReturnType<typeof gatewayMetrics>;

/** Adds the metrics of the gateway to the registry of a node, once. */
export function gatewayMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, nodeGauge, histogram } = metricsIn(registry);
  return {
    socketsOpen: nodeGauge('parley_sockets_open', 'Open sockets of this node'),
    socketsOpened: counter('parley_sockets_opened_total', 'Sockets opened on this node'),
    socketsRefused: counter(
      'parley_sockets_refused_total',
      'Handshakes refused by this node, by the code of the error',
      ['reason'],
    ),
    socketsClosed: counter('parley_sockets_closed_total', 'Sockets closed by this node, by reason', [
      'reason',
    ]),

    subscriptions: counter(
      'parley_subscriptions_total',
      'Requests to follow conversations, by op (subscribe, resume) and outcome: accepted, or the code of the error',
      ['op', 'outcome'],
    ),
    replays: counter(
      'parley_replays_total',
      'Catching up before a subscription is live, by outcome: joined, ended (given up by the client), lost (resync)',
      ['outcome'],
    ),
    ephemeralWithheld: counter(
      'parley_ephemeral_withheld_total',
      'Times a slow socket was taken off the ephemeral events of a conversation until it had caught up',
    ),

    /** One sample in 16: a distribution does not need two clock reads per message and stream. */
    deliverySeconds: histogram(
      'parley_delivery_duration_seconds',
      "From a message's writing, by the clock of Postgres, to its hand-over to this node's sockets; every 16th",
    ),
    /** Counted once per frame and audience of this node, not once per socket. */
    framesDelivered: counter('parley_frames_delivered_total', 'Frames handed to the sockets of this node'),

    engineLostFrames: counter(
      'parley_engine_lost_frames_total',
      'Frames of other nodes that were lost on a link that stayed up',
    ),
    repairs: counter(
      'parley_repairs_total',
      'Repairs of streams from Postgres, by reason: frames (were lost), link (was away), silence (of another node), away (each second while a link is)',
      ['reason'],
    ),
    repairedStreams: counter(
      'parley_repaired_streams_total',
      'Streams of conversations and actors that these repairs read',
    ),
  };
}
