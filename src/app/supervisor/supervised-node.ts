import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type {
  Answers,
  Assignment,
  MetricsOfProcess,
  SocketCounts,
  Subject,
  ToNode,
  ToSupervisor,
} from './messages.ts';
import { Questions } from './questions.ts';

/** The questions and reports of nodes to their supervisor. */
export interface NodeListener {
  asked(node: SupervisedNode, id: number, subject: Subject): void;
  socketsCounted(node: SupervisedNode, counts: SocketCounts): void;
}

/** The way in which a process has ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One node as its supervisor sees it. */
export class SupervisedNode {
  readonly slot: number;
  /** Rejects if the process ends before it listens. */
  readonly listening: Promise<void>;
  readonly ended: Promise<Ending>;
  /** Whether it listens and is not about to end. */
  serves = false;
  /** Its counts when it was asked last, or ended. */
  metrics: MetricsOfProcess = [];
  readonly #child: ChildProcess;
  readonly #questions = new Questions((question) => this.#send(question));
  /** Messages from before the process can hear. */
  #early: ToNode[] | undefined;
  #listened: () => void = () => {};

  constructor(assignment: Assignment, listener: NodeListener) {
    this.slot = assignment.slot;
    // The program that runs as the supervisor, with the options that Node has here.
    const child = fork(process.argv[1]!, ['node'], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    this.#child = child;
    forward(child.stdout!, process.stdout);
    forward(child.stderr!, process.stderr);
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.serves = false;
        resolve({ code, signal });
      });
    });
    this.listening = new Promise((resolve, reject) => {
      this.#listened = resolve;
      void this.ended.then(() => reject(new Error('the node ended before it listened')));
    });
    this.listening.catch(() => {});
    child.on('message', (message: ToSupervisor) => this.#hear(message, listener));
    // A process that has ended, or that could not be started, takes no messages.
    child.on('error', () => {});
    this.#early = [assignment];
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  leave(): void {
    this.#send({ type: 'leave' });
  }

  /** Asks for an orderly end, and kills a node that hangs beyond `patienceMs`. */
  async stop(reason: string, patienceMs: number): Promise<Ending> {
    this.serves = false;
    this.#send({ type: 'stop', reason });
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs);
    const ending = await this.ended;
    clearTimeout(timer);
    return ending;
  }

  /** Resolves with undefined if the node does not answer in time. */
  async ask<S extends Subject>(subject: S): Promise<Answers[S]['ofNode'] | undefined> {
    const value = (await this.#questions.ask(subject, ANSWER_MS)) as Answers[S]['ofNode'] | undefined;
    if (subject === 'metrics' && value !== undefined) this.metrics = value as MetricsOfProcess;
    return value;
  }

  answer(id: number, value: unknown): void {
    this.#send({ type: 'answer', id, value });
  }

  setFull(actorIds: readonly string[], isFull: boolean): void {
    this.#send({ type: 'full', actorIds, isFull });
  }

  #hear(message: ToSupervisor, listener: NodeListener): void {
    switch (message.type) {
      case 'hears':
        for (const early of this.#early ?? []) this.#child.send(early, () => {});
        this.#early = undefined;
        break;
      case 'listening':
        this.serves = true;
        this.#listened();
        break;
      case 'question':
        listener.asked(this, message.id, message.subject);
        break;
      case 'answer':
        this.#questions.settle(message);
        break;
      case 'sockets':
        listener.socketsCounted(this, message.counts);
        break;
      case 'ended':
        this.metrics = message.metrics;
    }
  }

  #send(message: ToNode): void {
    if (this.#early !== undefined) this.#early.push(message);
    else if (this.#child.connected) this.#child.send(message, () => {});
  }
}

/** Milliseconds by which a hanging node delays an answer for all nodes. */
const ANSWER_MS = 1_000;

/** Forwards whole lines at once, so that lines of several processes never mix. */
function forward(from: NodeJS.ReadableStream, to: NodeJS.WritableStream): void {
  createInterface({ input: from }).on('line', (line) => to.write(`${line}\n`));
}
