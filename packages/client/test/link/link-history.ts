import { Random } from '../../../../test/support/random.ts';
import { type Client, connect, type Transport } from '../../index.ts';
import { DIAL, DOWN, HELD, MOVE, OPEN, OVER, RISE, STAY, TOLD, WAIT } from '../../link/link-table.ts';
import { CONVERSATIONS, HEARTBEATS_MS, LinkFaults } from './link-faults.ts';
import type { LinkWatch } from './link-watch.ts';
import { type Frame, MOST_ASKED_MS, ModelGateway } from './model-gateway.ts';
import { type Channel, ModelNetwork } from './model-network.ts';
import { ModelPage } from './model-page.ts';
import { VirtualTime } from './virtual-time.ts';

const MOST_WAITS_MS = [2_000, 15_000] as const;
const WAYS: readonly (readonly Transport[])[] = [
  ['websocket', 'stream', 'poll'],
  ['websocket', 'stream', 'poll'],
  ['websocket', 'poll'],
  ['stream', 'poll'],
  ['websocket'],
  ['stream'],
  ['poll'],
];
const GAPS_MS = [1, 200, 5_000, 5_000, 5_000, 20_000, 60_000];
const MOST_STEPS = 20_000;

/**
 * One client from its beginning to its end, among faults that the seed draws. `problems` has the
 * promises that it broke: each message once and in order, connected soon after the last fault, no
 * more connections than a move needs, no wait longer than its bound, nothing behind close().
 */
export class LinkHistory {
  readonly problems: string[] = [];
  /** Everything that the application noticed, each with its time. */
  readonly trace: string[] = [];
  readonly #time: VirtualTime;
  readonly #gateway: ModelGateway;
  readonly #network: ModelNetwork;
  readonly #random: Random;
  /** For acts in states in which links seldom are. */
  readonly #seldomly: Random;
  readonly #watch: LinkWatch | undefined;
  readonly #page = new ModelPage();
  readonly #ways: readonly Transport[];
  readonly #isRenewable: boolean;
  readonly #faults: LinkFaults;
  readonly #mostWaitMs: number;
  readonly #positions: { readonly id: string; last: number; isOver: boolean }[] = [];
  readonly #unsubscribes: (() => void)[] = [];
  /** An act of the application inside of its own handler: which call, and what it does there. */
  readonly #inside: { calls: number; readonly isError: boolean; readonly act: () => void } | undefined;
  #client: Client | undefined;
  #tokens = 0;
  /** Questions that the application has not answered, for each of which the client has a timer. */
  #asked = 0;
  #isCalm = false;
  /** When the link moved last, and how often it had by then. */
  #movedAt = 0;
  #moves = 0;
  /** The connection that was ready last. */
  #newest: Channel | undefined;
  /** No try before then, unless that connection ends. */
  #held: { readonly channel: Channel | undefined; readonly until: number } | undefined;
  #tries = 0;
  #ended = 0;
  #isClosed = false;
  /** Whether everything that had begun before close() has run. */
  #isSilent = false;
  #afterClose = 0;

  constructor(seed: number, watch?: LinkWatch) {
    this.#watch = watch;
    this.#random = new Random(seed);
    const isBlocked = this.#chance(0.3);
    this.#ways = isBlocked ? WAYS[0]! : this.#random.pick(WAYS);
    this.#seldomly = new Random(seed ^ 0xace);
    this.#time = new VirtualTime(seed ^ 0x5eed, this.#chance(0.2) ? 0.3 : 1);
    this.#gateway = new ModelGateway(this.#time);
    this.#network = new ModelNetwork(this.#gateway, new Random(seed ^ 0xcafe));
    this.#isRenewable = this.#chance(0.7);
    this.#faults = new LinkFaults({
      random: this.#random,
      network: this.#network,
      ways: this.#ways,
      isRenewable: this.#isRenewable,
      isBlocked,
      application: {
        wake: () => this.#wake(),
        subscribe: () => this.#subscribe(),
        unsubscribe: () => this.#unsubscribe(),
      },
      log: (line) => this.#log(line),
    });
    this.#mostWaitMs = this.#random.pick(MOST_WAITS_MS);
    if (this.#chance(0.25)) {
      const acts = [() => this.#close(), () => this.#wake(), () => this.#subscribe()];
      const isError = this.#chance(0.5);
      const calls = 1 + this.#random.below(isError ? 3 : 12);
      this.#inside = { calls, isError, act: this.#random.pick(acts) };
    }
  }

  async run(): Promise<this> {
    if (this.#watch !== undefined) this.#watch.state = DOWN;
    for (const id of ['cnv_1', 'cnv_2']) this.#gateway.post(id);
    if (this.#chance(0.5)) this.#faults.act();
    const client = connect({
      url: () => this.#answer(this.#faults.url === 'failing' ? undefined : 'https://chat.example'),
      account: 'acc_1',
      ...(this.#isRenewable ? { getToken: () => this.#nextToken() } : { token: 'key' }),
      transports: this.#ways,
      WebSocket: this.#network.WebSocket,
      fetch: this.#network.fetch,
      mostWaitMs: this.#mostWaitMs,
      timing: this.#time,
      page: this.#page,
    });
    this.#client = client;
    this.#network.onFrame = (channel, frame) => this.#arrives(channel, frame);
    client.on('state', (state) => this.#noticed(`state ${state}`));
    client.on('stale', () => this.#noticed('stale'));
    client.on('error', ({ reason, willRetry, error }) => {
      // Those of requests over REST have no end of a connection.
      const isOfLink = error !== undefined && 'reason' in error;
      this.#expect(!isOfLink || client.transport === null, `${reason} while a connection lasts`);
      this.#noticed(`error ${reason} ${willRetry}`);
    });
    client.on('end', ({ code }) => {
      this.#ended += 1;
      this.#noticed(`end ${code}`);
    });
    this.#subscribe();
    if (this.#chance(0.5)) this.#subscribe();
    let calmAt = 0;
    for (let acts = 1 + this.#random.below(14); acts > 0; acts--) {
      calmAt += this.#random.below(this.#random.pick(GAPS_MS));
      this.#time.happen(calmAt, () => this.#faults.act());
    }
    if (this.#chance(0.1)) {
      this.#time.arrive(this.#random.below(calmAt + 1), () => this.#close());
    }
    await this.#until(calmAt);
    await this.#until(this.#time.awakeAt);
    this.#isCalm = true;
    this.#faults.calm();
    // Most are well long before.
    await this.#until(
      this.#time.now + this.#boundMs,
      () => this.#chance(0.1) && this.#whatLacks() === undefined,
    );
    this.#checkCalm();
    if (!this.#isClosed && this.#ended === 0 && client.transport !== this.#ways[0] && this.#chance(0.1)) {
      await this.#until(this.#time.now + CLIMBED_MS);
      this.#checkCalm();
      const isBest = this.#isClosed || client.transport === this.#ways[0];
      this.#expect(isBest, `still over ${client.transport} after an hour`);
    }
    if (!this.#isClosed) this.#close();
    await settle();
    this.#silenced();
    // A feed that repeats a request has a timer for some two seconds, which does nothing any more.
    await this.#until(this.#time.now + AGAIN_MS);
    this.#expect(this.#time.timers <= this.#asked, `${this.#time.timers} timers behind close()`);
    await this.#until(this.#time.now + AFTERWARDS_MS);
    this.#checkClosed();
    return this;
  }

  /** After this long without faults a client is connected, and has everything. */
  get #boundMs(): number {
    const tries = this.#ways.length;
    return (
      HEARTBEATS_MS + MOST_ASKED_MS + PATIENCE_MS + 4 * this.#mostWaitMs + tries * FIRST_FRAME_MS + REST_MS
    );
  }

  #subscribe(): void {
    const client = this.#client;
    if (client === undefined || this.#isClosed || this.#positions.length > 5) return;
    const id = this.#random.pick(CONVERSATIONS);
    const head = this.#gateway.headOf(id);
    const after = this.#random.below(head + 1);
    const one = { id, last: after, isOver: false };
    this.#positions.push(one);
    const subscription = client.subscribe(id, {
      afterSequence: after,
      onMessage: ({ sequence }) => {
        if (one.isOver) this.problems.push(`${id}: a message behind unsubscribe`);
        if (sequence !== one.last + 1) this.problems.push(`${id}: ${sequence} behind ${one.last}`);
        one.last = sequence ?? 0;
        this.#noticed(`${id} ${sequence}`);
      },
      onEnd: () => this.problems.push(`${id}: its end`),
    });
    this.#unsubscribes.push(() => {
      one.isOver = true;
      subscription.unsubscribe();
    });
  }

  #unsubscribe(): void {
    if (!this.#isClosed) this.#unsubscribes.shift()?.();
  }

  #close(): void {
    this.#isClosed = true;
    this.#client?.close();
  }

  /** From now on the application must not notice anything. */
  #silenced(): void {
    this.#isSilent = true;
    this.#afterClose = this.trace.length;
  }

  #nextToken(): Promise<string> {
    const token = `token_${++this.#tokens}`;
    const way = this.#faults.token;
    if (way === 'never') return this.#answer(new Promise(() => {}));
    if (way !== 'late') return this.#answer(way === 'failing' ? undefined : token);
    const ms = this.#random.below(12_000);
    return this.#answer(new Promise((resolve) => this.#time.arrive(ms, () => resolve(token))));
  }

  /** The answer of the application; undefined is none. */
  async #answer(answer: string | Promise<string> | undefined): Promise<string> {
    if (this.#isSilent) this.problems.push('a question behind close()');
    this.#asked += 1;
    try {
      if (answer === undefined) throw new Error('not now');
      return await answer;
    } finally {
      this.#asked -= 1;
    }
  }

  #noticed(what: string): void {
    this.#log(what);
    const inside = this.#inside;
    if (inside === undefined || (inside.isError && !what.startsWith('error'))) return;
    inside.calls -= 1;
    if (inside.calls === 0) inside.act();
  }

  #log(what: string): void {
    this.trace.push(`${this.#time.now} ${what}`);
  }

  /** Runs what is due until then, and looks at the client behind each step. */
  async #until(at: number, isEnough = () => false): Promise<void> {
    for (let steps = 0; !isEnough() && this.#time.step(at); steps++) {
      await settle();
      if (this.#isClosed && !this.#isSilent) this.#silenced();
      this.#check();
      this.#seldom();
      if (this.problems.length > 0) return;
      if (steps === MOST_STEPS) {
        this.problems.push('it does not come to rest');
        return;
      }
    }
  }

  /** Does something where links seldom are, as chance alone would take too long. */
  #seldom(): void {
    const { state } = this.#watch ?? { state: OPEN };
    if (
      this.#isCalm ||
      state <= OPEN ||
      state === OVER ||
      this.#seldomly.next() > (state === STAY ? 0.5 : 0.1)
    )
      return;
    const [session] = this.#gateway.sessions;
    const isLesser = this.#client!.transport !== this.#ways[0];
    switch (state === STAY && isLesser ? 1 : this.#seldomly.below(7)) {
      case 0:
        this.#close();
        return;
      case 1:
      case 2:
        // Timers of the wait and of the climb are then late together.
        this.#time.sleep(60_000);
        return;
      case 3:
      case 4:
        if (session !== undefined) this.#faults.goAway(session);
        return;
      default:
        this.#wake();
    }
  }

  #check(): void {
    const { open } = this.#network;
    const client = this.#client!;
    const isConnected = client.transport !== null;
    const unready = open.filter(({ isReady }) => !isReady).length;
    const ready = open.length - unready;
    this.#expect(ready <= (isConnected ? 2 : 1), `${ready} connections at once`);
    this.#expect(unready <= 1, `${unready} tries at once`);
    if (this.#isClosed || this.#ended > 0) {
      this.#expect(open.length === 0, `${open.length} connections behind the end`);
    }
    this.#expect(this.#ended <= 1, 'two ends');
    this.#expect(this.#ended === 0 || this.#faults.isFatal, 'an end without a reason');
    if (this.#watch === undefined) return;
    const { state, moves } = this.#watch;
    if (moves !== this.#moves) this.#movedAt = this.#time.now;
    this.#moves = moves;
    const ms = this.#time.now - Math.max(this.#movedAt, this.#time.awakeAt);
    this.#expect(ms <= this.#mostMs(state), `${ms} ms in state ${state}`);
    this.#checkAsked(state);
    this.#expect(state !== DOWN, 'nothing is planned');
    this.#expect((state >= OPEN && state <= RISE) === isConnected, `state ${state} over ${client.transport}`);
    const isTrying = state === DIAL || state === MOVE || state === RISE;
    this.#expect(isTrying || unready === 0, `a try in state ${state}`);
    this.#expect((state === OVER) === (this.#isClosed || this.#ended > 0), `over too early or too late`);
  }

  /** Notes when the server lets the client try again. */
  #arrives(channel: Channel, { type, reconnect_in_ms, code, reason }: Frame): void {
    const { state } = this.#watch ?? { state: OVER };
    const isNewest = channel === this.#newest;
    // A stream that is opened again for other subscriptions takes the place of the stream before.
    const isNext = this.#newest?.isOpen === false && this.#newest.transport === channel.transport;
    if (type === 'ready' && (!channel.isReady || isNext)) this.#newest = channel;
    if (type === 'goaway' && isNewest && channel.transport !== 'poll') {
      channel.isGoing = true;
      if (state !== MOVE) this.#held = { channel, until: this.#time.now + Number(reconnect_in_ms) };
    }
    if (type !== 'close' || Math.floor(Number(code) / 100) !== 41) return;
    const { retry_after_ms: ms } = JSON.parse(String(reason)) as { readonly retry_after_ms: number };
    const until = this.#time.now + ms;
    if (!channel.isReady && state === MOVE) this.#held = { channel: this.#newest!, until };
    if (!channel.isReady && state === DIAL) this.#held = { channel: undefined, until };
    if (isNewest && state >= OPEN && state !== MOVE) this.#held = { channel: undefined, until };
  }

  /** The waits and moves that servers ask for are kept. */
  #checkAsked(state: number): void {
    const { tries } = this.#network;
    const { channel, until = 0 } = this.#held ?? {};
    const isHeld = this.#held !== undefined && (channel?.isOpen ?? true);
    if (tries !== this.#tries && isHeld) {
      this.#expect(this.#time.now >= until, 'a try before the time that the server said');
      this.#held = undefined;
    }
    this.#tries = tries;
    if (this.#newest?.isOpen && this.#newest.isGoing && this.#client!.transport !== null) {
      const isLeaving = state === TOLD || state === STAY || state === MOVE;
      this.#expect(isLeaving, `state ${state} while the node goes away`);
    }
  }

  /** How long a link may be in a state, in milliseconds. */
  #mostMs(state: number): number {
    const ownMs = this.#mostWaitMs + SLACK_MS;
    if (state === WAIT || state === STAY) return ownMs;
    if (state === HELD || state === TOLD) return MOST_ASKED_MS + ownMs;
    if (state === OPEN || state === OVER) return Number.POSITIVE_INFINITY;
    return PATIENCE_MS + FIRST_FRAME_MS + HEARTBEATS_MS + SLACK_MS;
  }

  /** The page wakes the client: it cuts its own waits short, and no others. */
  #wake(): void {
    const before = this.#watch?.state;
    this.#page.wake();
    if (before === undefined) return;
    const wanted = before === WAIT ? DIAL : before === STAY ? MOVE : before;
    const isKept = this.#watch?.state === wanted || this.#isClosed;
    this.#expect(isKept, `state ${this.#watch?.state} from ${before} by a wake`);
  }

  #checkCalm(): void {
    if (this.problems.length > 0) return;
    const lacks = this.#whatLacks();
    if (lacks !== undefined) this.problems.push(`${lacks} long after the last fault`);
  }

  /**
   * Returns how the client differs from one that is live, has every message, and has left all other
   * connections.
   */
  #whatLacks(): string | undefined {
    if (this.#isClosed || this.#ended > 0) return undefined;
    const { state } = this.#client!;
    if (state !== 'live') return state;
    if (this.#network.open.length > 1) return 'several connections';
    const behind = this.#positions.find(
      ({ id, last, isOver }) => !isOver && last !== this.#gateway.headOf(id),
    );
    return behind && `${behind.id}: ${behind.last} of ${this.#gateway.headOf(behind.id)}`;
  }

  #checkClosed(): void {
    if (this.problems.length > 0) return;
    const late = this.trace.slice(this.#afterClose).filter((line) => !line.includes('--'));
    this.#expect(late.length === 0, `behind close(): ${late[0]}`);
    this.#expect(this.#time.timers === 0, `${this.#time.timers} timers behind close()`);
  }

  #expect(holds: boolean, otherwise: string): void {
    if (!holds) this.problems.push(otherwise);
  }

  #chance(of: number): boolean {
    return this.#random.next() < of;
  }
}

/** Limits of the SDK, in milliseconds. */
const PATIENCE_MS = 10_000;
const FIRST_FRAME_MS = 10_000;
const REST_MS = 40_000;
const AGAIN_MS = 2_000;
/** Delays of the network. */
const SLACK_MS = 1_000;
/** As long as until a better transport is tried for certain. */
const CLIMBED_MS = 3_700_000;
const AFTERWARDS_MS = 120_000;

/** Lets all promises go on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
