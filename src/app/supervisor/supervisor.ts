import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HealthOfAll } from '../../api/health.ts';
import { type Backoff, delayAfter } from '../../platform/backoff.ts';
import type { Logger } from '../../platform/log.ts';
import type { Config } from '../config.ts';
import { ActorSockets } from './actor-sockets.ts';
import { MergedMetrics } from './merged-metrics.ts';
import type { Ports, SocketCounts, Subject } from './messages.ts';
import { type NodeListener, SupervisedNode } from './supervised-node.ts';

export interface SupervisorOptions {
  readonly config: Pick<Config, 'processes' | 'drainDelayMs' | 'socket'>;
  readonly ports: Ports;
  /** Milliseconds after which a node that is asked to stop ends whatever it does. */
  readonly stopMs: number;
  readonly databaseUrl: string;
  readonly log: Logger;
}

/**
 * Runs the nodes of one machine, which share its ports: restarts ended nodes, replaces all nodes
 * one by one, stops them one by one, and answers for all.
 */
export class Supervisor implements NodeListener {
  readonly #options: SupervisorOptions;
  readonly #id = randomBytes(9).toString('base64url');
  readonly #slots: readonly Slot[];
  /** The nodes of the slots, and nodes that others have replaced. */
  readonly #nodes = new Set<SupervisedNode>();
  readonly #metrics = new MergedMetrics();
  readonly #sockets: ActorSockets<SupervisedNode>;
  readonly #stopping = new AbortController();
  #rolling: Promise<void> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    const { processes, socket } = options.config;
    this.#options = options;
    this.#slots = Array.from({ length: processes }, (_, index) => ({ number: index + 1, failures: 0 }));
    this.#sockets = new ActorSockets(socket.socketsPerActor);
  }

  /**
   * Resolves when all nodes listen, or when a stop was asked for meanwhile. The first one starts
   * alone, because it prepares the database. Rejects if one ends before it listens.
   */
  start(): Promise<void> {
    const started = this.#startAll();
    // A roll waits until there is something to replace.
    this.#rolling = started.catch(() => this.#stopping.abort());
    return started;
  }

  /**
   * Replaces each node by a new process, which listens before the former one stops. If a new
   * process does not start, the other nodes stay as they are.
   */
  roll(): Promise<void> {
    // A request during a roll may come from an operator who has changed something again.
    this.#rolling = this.#rolling.then(() => this.#rollAll());
    return this.#rolling;
  }

  /** Stops one node after another; all at once if `urgent` aborts. Resolves with the exit code. */
  async stop(reason: string, urgent: AbortSignal): Promise<number> {
    const { log, config } = this.#options;
    this.#stopping.abort();
    for (const node of this.#nodes) node.leave();
    if (config.drainDelayMs > 0 && !urgent.aborted) {
      log.info(
        { reason, drain_delay_ms: config.drainDelayMs },
        'not ready any more: stopping after the delay',
      );
      await delay(config.drainDelayMs, undefined, { signal: urgent }).catch(() => {});
    }
    const stopping = new Map<SupervisedNode, Promise<{ readonly code: number | null }>>();
    const stop = (node: SupervisedNode) => {
      const ending = stopping.get(node) ?? node.stop(reason, this.#patienceMs);
      stopping.set(node, ending);
      return ending;
    };
    const stopAll = () => [...this.#nodes].map(stop);
    if (urgent.aborted) stopAll();
    else urgent.addEventListener('abort', stopAll);
    for (const node of [...this.#nodes].sort((a, b) => a.slot - b.slot)) await stop(node);
    const endings = await Promise.all(stopping.values());
    return endings.every(({ code }) => code === 0) ? 0 : 1;
  }

  asked(node: SupervisedNode, id: number, subject: Subject): void {
    const answer = subject === 'health' ? this.#health() : this.#mergedMetrics();
    void answer.then((value) => node.answer(id, value));
  }

  socketsCounted(node: SupervisedNode, counts: SocketCounts): void {
    const { full, free } = this.#sockets.count(node, counts);
    this.#announce(full, true);
    this.#announce(free, false);
  }

  get #patienceMs(): number {
    return this.#options.stopMs + KILL_AFTER_MS;
  }

  #announce(actorIds: readonly string[], isFull: boolean): void {
    if (actorIds.length === 0) return;
    for (const node of this.#nodes) node.setFull(actorIds, isFull);
  }

  async #health(): Promise<HealthOfAll> {
    const serving = [...this.#nodes].filter(({ serves }) => serves);
    const answers = await Promise.all(serving.map((node) => node.ask('health')));
    return {
      nodes: answers.filter((answer) => answer !== undefined),
      processes: this.#slots.length,
    };
  }

  async #mergedMetrics(): Promise<string> {
    await Promise.all([...this.#nodes].map((node) => node.ask('metrics')));
    // A hanging node counts with its last answer, an ended one in the sums.
    return this.#metrics.text(
      [...this.#nodes].map(({ slot, serves, metrics }) => ({ slot: serves ? slot : null, metrics })),
    );
  }

  #begin(slot: Slot, { isFirst = false } = {}): SupervisedNode {
    const { databaseUrl, ports } = this.#options;
    const node = new SupervisedNode(
      { type: 'begin', slot: slot.number, supervisorId: this.#id, isFirst, databaseUrl, ports },
      this,
    );
    node.setFull(this.#sockets.full(), true);
    this.#nodes.add(node);
    slot.node = node;
    void node.ended.then(() => {
      this.#nodes.delete(node);
      this.#metrics.end(node.metrics);
      this.#announce(this.#sockets.end(node), false);
    });
    return node;
  }

  async #startAll(): Promise<void> {
    const [first, ...others] = this.#slots as [Slot, ...Slot[]];
    await this.#begin(first, { isFirst: true }).listening;
    if (this.#stopping.signal.aborted) return;
    await Promise.all(others.map((slot) => this.#begin(slot).listening));
    const { log, config, ports } = this.#options;
    log.info({ pid: process.pid, processes: config.processes, port: ports.port }, 'every node listens');
    for (const slot of this.#slots) void this.#keep(slot);
  }

  /** Starts another node whenever the slot's node ends. */
  async #keep(slot: Slot): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const node = slot.node!;
      const beganMs = performance.now();
      const ending = await node.ended;
      // It was replaced, and ends as it should.
      if (slot.node !== node) continue;
      if (signal.aborted) return;
      if (performance.now() - beganMs > STEADY_MS) slot.failures = 0;
      const { delaysMs } = RESTARTS;
      const delayMs = delayAfter(RESTARTS, Math.min(slot.failures, delaysMs.length - 1))!;
      slot.failures += 1;
      log.error(
        { process: slot.number, pid: node.pid, ...ending, delay_ms: Math.round(delayMs) },
        'a node has ended: another one is started after the delay',
      );
      await delay(delayMs, undefined, { signal }).catch(() => {});
      if (signal.aborted || slot.node !== node) continue;
      this.#begin(slot);
    }
  }

  async #rollAll(): Promise<void> {
    const { log } = this.#options;
    log.info('replacing each node by a new process');
    for (const slot of this.#slots) {
      if (this.#stopping.signal.aborted) return;
      const former = slot.node!;
      const next = this.#begin(slot);
      try {
        await next.listening;
      } catch {
        log.error(
          { process: slot.number },
          'the new process did not start: the other nodes stay as they are',
        );
        // The former node goes on, unless it has ended meanwhile.
        if (former.serves) slot.node = former;
        return;
      }
      await former.stop('replaced', this.#patienceMs);
    }
    log.info('each node is a new process');
  }
}

/** The place of a node, which another node takes when it ends. */
interface Slot {
  readonly number: number;
  node?: SupervisedNode;
  /** Nodes that ended soon after their start, in a row. */
  failures: number;
}

const RESTARTS: Backoff = { delaysMs: [100, 1_000, 2_000, 5_000, 10_000, 30_000], jitter: 0.2 };

/** A node that ran for this many milliseconds ended for a reason of its own. */
const STEADY_MS = 60_000;

/** Milliseconds until the supervisor kills a node that did not end itself at its patience's end. */
const KILL_AFTER_MS = 5_000;
