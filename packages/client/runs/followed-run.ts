import type { List } from '@parley/protocol/lists.ts';
import type { AgentRun, ContinueRunBody } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { ENDED_RUNS } from '@parley/protocol/resources/ended-runs.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import type { ConversationSubscription } from '../events/client-events.ts';
import { ReadLoop } from '../lists/read-loop.ts';
import type { FollowHost } from '../live/follow-host.ts';
import type { LoadedPart, PartOwner } from '../live/loaded-object.ts';
import { queryOf } from '../rest/pages.ts';
import { conversationPath, messagePath } from '../rest/paths.ts';
import type { RunSnapshot } from './run-snapshot.ts';

/**
 * Follows the run of an agent. Its text comes from its conversation, word by word. The rest is read
 * again after an event of the run (only its starter receives it), a notification about it (only for
 * its approvers) or its message. It is also read from time to time, since turns and calls have no
 * events.
 */
export class FollowedRun implements LoadedPart<RunSnapshot> {
  readonly #host: FollowHost;
  readonly #id: string;
  readonly #set: PartOwner<RunSnapshot>['set'];
  readonly #reads: ReadLoop;
  readonly #unfollow: () => void;
  #subscription: ConversationSubscription | undefined;
  #run: AgentRun | undefined;
  #messageId: string | undefined;
  /** Texts that are being written by message, until it is known whose message it is. */
  readonly #heard = new Map<string, string>();
  readonly #others = new Set<string>();
  #stopAgain: (() => void) | undefined;
  #isClosed = false;

  constructor(host: FollowHost, id: string, set: PartOwner<RunSnapshot>['set']) {
    this.#host = host;
    this.#id = id;
    this.#set = set;
    this.#reads = new ReadLoop({
      timing: host.timing,
      restMs: REST_MS,
      read: () => this.#read(),
      failed: (error) => set(this.#run === undefined ? { status: 'error', error } : { error }),
    });
    this.#unfollow = host.onFrame((frame) => {
      const { event, data } = frame as EventOf;
      const isOfRun =
        (event === 'agent_run.updated' && data.id === id) ||
        ((event === 'notification.created' || event === 'notification.updated') && data.agent_run_id === id);
      if (isOfRun) this.#reads.wake();
    });
    this.#reads.wake(true);
  }

  decide(decisions: ContinueRunBody['decisions']): Promise<AgentRun> {
    return this.#change('continue', { decisions });
  }

  cancel(): Promise<AgentRun> {
    return this.#change('cancel', {});
  }

  async #change(action: 'continue' | 'cancel', body: object): Promise<AgentRun> {
    const path = `/v1/ai/runs/${encodeURIComponent(this.#id)}/actions/${action}`;
    const run = await this.#host.fetch<AgentRun>(path, { method: 'POST', body });
    this.#reads.wake(true);
    return run;
  }

  close(): void {
    this.#isClosed = true;
    this.#reads.close();
    this.#unfollow();
    this.#stopAgain?.();
    this.#subscription?.unsubscribe();
  }

  async #read(): Promise<boolean> {
    const path = `/v1/ai/runs/${encodeURIComponent(this.#id)}${queryOf({ include: INCLUDE })}`;
    const run = await this.#host.fetch<AgentRun>(path);
    if (this.#isClosed) return false;
    const isOver = ENDED.has(run.status);
    const output = (run.output ?? {}) as { readonly text?: unknown; readonly message_id?: unknown };
    if (typeof output.message_id === 'string') this.#messageId = output.message_id;
    if (isOver) await this.#readText(output.text, run);
    if (this.#isClosed) return false;
    this.#show(run);
    if (isOver) this.#subscription?.unsubscribe();
    else this.#subscribe(run.conversation_id ?? null);
    this.#stopAgain?.();
    // A run that waits for people, for approval or an answer, may do so for days.
    const everyMs = isOver ? undefined : /^await/.test(run.status) ? WAITING_MS : RUNNING_MS;
    if (everyMs !== undefined) this.#stopAgain = this.#host.timing.after(everyMs, () => this.#reads.wake());
    return false;
  }

  /** Reads the text of a run that has ended, whatever was heard of it. */
  async #readText(output: unknown, { steps, conversation_id }: AgentRun): Promise<void> {
    this.#messageId ??= await this.#lastMessageId(conversation_id ?? null);
    if (this.#messageId !== undefined) {
      const message = await this.#message(this.#messageId);
      if (typeof message?.body === 'string') {
        this.#set({ text: message.body, messageId: message.id });
        return;
      }
    }
    const said = (steps ?? []).flatMap(({ text }) => text ?? []).at(-1);
    const text = typeof output === 'string' ? output : said;
    if (text !== undefined) this.#set({ text });
  }

  #show(run: AgentRun): void {
    const isSame = JSON.stringify(run) === JSON.stringify(this.#run);
    this.#set({ status: 'ready', error: null });
    if (isSame) return;
    this.#run = run;
    const { steps, actions } = run;
    const costs = (steps ?? []).flatMap(({ cost_usd: cost }) => cost ?? []);
    this.#set({
      run,
      steps: steps ?? [],
      actions: actions ?? [],
      waiting: (actions ?? []).filter(({ status }) => status === 'pending_review'),
      costUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
    });
  }

  #subscribe(conversationId: string | null): void {
    if (conversationId === null || this.#subscription !== undefined) return;
    this.#subscription = this.#host.subscribe(conversationId, {
      backlog: BACKLOG,
      onMessage: (message) => this.#receive(message),
      onUpdate: (message) => this.#receive(message),
      onStreaming: ({ messageId, body }) => void this.#write(messageId, body),
      onEvent: ({ event, data }) => {
        if (event === 'draft.created' || event === 'draft.updated') this.#receive(data);
      },
      onStale: () => this.#reads.wake(),
      onEnd: () => this.#reads.wake(),
    });
  }

  #receive({ id, agent_run_id, body, streaming_state }: ChatMessage): void {
    if (agent_run_id !== this.#id) return;
    const isKnown = id === this.#messageId;
    this.#messageId = id;
    const isWriting = streaming_state === 'streaming';
    // While a message is written, the heard text is newer than its body.
    const text = (isWriting ? this.#heard.get(id) : undefined) ?? body ?? '';
    this.#set(isWriting && isKnown ? { messageId: id } : { messageId: id, text });
    this.#reads.wake();
  }

  /** Takes a text. The server says whose it is if it began before the subscription. */
  async #write(messageId: string, body: string): Promise<void> {
    if (messageId === this.#messageId) this.#set({ messageId, text: body });
    if (this.#messageId !== undefined || this.#others.has(messageId)) return;
    const isAsked = this.#heard.has(messageId);
    this.#heard.set(messageId, body);
    if (isAsked) return;
    const message = await this.#message(messageId);
    const text = this.#heard.get(messageId) ?? '';
    this.#heard.delete(messageId);
    if (message?.agent_run_id !== this.#id) {
      if (message !== undefined) this.#others.add(messageId);
    } else if (this.#messageId === undefined) {
      this.#messageId = messageId;
      this.#set({ messageId, text });
    }
  }

  /** Finds the last message of a failed or cancelled run, which does not name it. */
  async #lastMessageId(conversationId: string | null): Promise<string | undefined> {
    if (conversationId === null) return undefined;
    const path = conversationPath(conversationId, `/messages?limit=${BACKLOG}`);
    const { data } = await this.#host.fetch<List<ChatMessage>>(path);
    return data.find(({ agent_run_id }) => agent_run_id === this.#id)?.id;
  }

  #message(id: string): Promise<ChatMessage | undefined> {
    return this.#host.fetch<ChatMessage>(messagePath(id)).catch(() => undefined);
  }
}

const INCLUDE = ['actions', 'steps', 'definition', 'triggered_by'] as const;
const ENDED: ReadonlySet<AgentRun['status']> = new Set(ENDED_RUNS);
/** Numbers before the newest in which the message of an open run is looked for. */
const BACKLOG = 50;
const REST_MS = 500;
const RUNNING_MS = 2_000;
const WAITING_MS = 15_000;
