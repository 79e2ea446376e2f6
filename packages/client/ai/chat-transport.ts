import type { List } from '@parley/protocol/lists.ts';
import type { AgentRun, ContinueRunBody } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { ENDED_RUNS } from '@parley/protocol/resources/ended-runs.ts';
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Client } from '../client.ts';
import { ParleyError } from '../errors/parley-error.ts';
import { queryOf } from '../rest/pages.ts';
import { conversationPath } from '../rest/paths.ts';
import { RunChunks } from './run-chunks.ts';
import { runStream } from './run-stream.ts';
import { isStartedBy, startedRun } from './started-run.ts';
import { toUIMessages } from './ui-messages.ts';

/** The options of a transport. */
export interface ParleyChatTransportOptions {
  /** The client of the user who chats. The transport does not close it. */
  readonly client: Pick<Client, 'fetch' | 'on' | 'run' | 'runs' | 'send' | 'upload'>;
}

/** The part of the result of `useChat` that `stop` needs. */
export interface ChatOfParley {
  /** The id of the conversation. */
  readonly id: string;
  /** The shown messages; the last answer names the run. */
  readonly messages: readonly UIMessage[];
  /** Ends the stream in this page. */
  stop(): PromiseLike<void>;
}

/** The parts of a conversation that a page may show incompletely. */
interface Unfinished {
  /** The run whose text was shown in part. */
  readonly runId?: string;
  /** The last message, by its id on the server, if nothing follows it. */
  readonly unanswered?: Pick<ChatMessage, 'id' | 'created_at'>;
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];
type ReconnectOptions<M extends UIMessage> = Parameters<ChatTransport<M>['reconnectToStream']>[0];

/**
 * Connects `useChat` of the AI SDK with a conversation that has an agent: the chat's id is the id
 * of the conversation. A message sent here is a message of the conversation. The run of the agent
 * that it starts is the answer: one UI message, with the id of the run.
 *
 * An abort, as by `stop()` of `useChat` or a page that is left, ends only the stream in this page;
 * `ParleyChatTransport.stop` ends the run.
 */
export class ParleyChatTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** For the AI SDK: a stream that is resumed begins with the start of the answer. */
  readonly resumeStreamIsReplay = true;
  readonly #client: ParleyChatTransportOptions['client'];
  /** The run that each chat shows as it is written. */
  readonly #streamed = new Map<string, Promise<string>>();
  readonly #unfinished = new Map<string, Unfinished>();

  /** One transport serves all chats of a client. */
  constructor({ client }: ParleyChatTransportOptions) {
    this.#client = client;
  }

  /**
   * Returns the newest messages of a conversation, 100 at most, for the option `messages` of
   * `useChat`. With its option `resume`, an answer that ends between this and the first stream is
   * shown whole. Rejects as Client.fetch does.
   */
  async messages(chatId: string): Promise<M[]> {
    const query = queryOf({ limit: 100, include: ['sender', 'attachments'] });
    const { data } = await this.#client.fetch<List<ChatMessage>>(
      conversationPath(chatId, `/messages${query}`),
    );
    const inOrder = [...data].sort((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
    const [writing] = inOrder.filter(({ streaming_state }) => streaming_state === 'streaming').slice(-1);
    const last = inOrder.at(-1);
    const runId = writing?.agent_run_id ?? undefined;
    this.#unfinished.set(chatId, {
      ...(runId === undefined ? {} : { runId }),
      ...(last === undefined || last.agent_run_id ? {} : { unanswered: last }),
    });
    return toUIMessages(inOrder) as M[];
  }

  /**
   * Sends the last user message into the conversation and returns the stream of the run that it
   * starts; the fields of `body` are sent with it, such as `mentions`. Sending it again sends
   * nothing twice. Where the last message is an answer with calls that were decided
   * (`addToolApprovalResponse`), sends the decisions and returns the rest of that run. Rejects with
   * ParleyError: `resource_not_found` if no agent answers, `method_not_allowed` for a regenerated
   * answer, an edited question and all else that Parley cannot do.
   */
  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { trigger, chatId, messageId, messages, abortSignal } = options;
    if (trigger === 'regenerate-message') {
      throw cannot('An answer of an agent is not written again. Send another message.');
    }
    const message = messages.find(({ id }) => id === messageId) ?? messages.at(-1);
    if (message?.role === 'assistant') {
      await this.#decide(message, abortSignal);
      return this.#stream(chatId, Promise.resolve(message.id), abortSignal, new RunChunks(message));
    }
    const last = messages.at(-1);
    if (last?.role !== 'user') throw cannot('Only messages of the user are sent.');
    return this.#stream(chatId, this.#send(last, options), abortSignal);
  }

  /**
   * Returns the stream of the conversation's current run from its start, or null. A run that has
   * ended meanwhile counts if this transport has shown only a part of it.
   */
  async reconnectToStream({
    chatId,
    abortSignal,
  }: ReconnectOptions<M>): Promise<ReadableStream<UIMessageChunk> | null> {
    const query = { conversation_id: chatId, trigger_type: 'chat', limit: 25 } as const;
    const { value } = await this.#client.runs.list(query).next();
    abortSignal?.throwIfAborted();
    const runs: readonly AgentRun[] = value?.data ?? [];
    const { runId, unanswered } = this.#unfinished.get(chatId) ?? {};
    const run =
      runs.find(({ status }) => !ENDED.has(status)) ??
      runs.find((one) => one.id === runId || (unanswered !== undefined && isStartedBy(one, unanswered.id)));
    if (run !== undefined) return this.#stream(chatId, Promise.resolve(run.id), abortSignal);
    if (unanswered === undefined || Date.now() - Date.parse(unanswered.created_at) > JUST_SENT_MS)
      return null;
    const wanted = { conversationId: chatId, messageId: unanswered.id, patienceMs: JUST_SENT_MS };
    const started = startedRun(this.#client, { ...wanted, signal: abortSignal });
    const id = await started.catch((error: unknown) => {
      if (error instanceof ParleyError && error.code === 'resource_not_found') return undefined;
      throw error;
    });
    return id === undefined ? null : this.#stream(chatId, Promise.resolve(id), abortSignal);
  }

  /**
   * Cancels the run that the chat shows now, but no later run, and then stops the chat. The request
   * to the model ends within a second. Resolves also if the run had ended. Rejects as Client.fetch
   * does; the chat is stopped all the same.
   */
  async stop(chat: ChatOfParley): Promise<void> {
    const last = chat.messages.at(-1);
    const shown = last?.role === 'assistant' ? last.id : undefined;
    const streamed = this.#streamed.get(chat.id);
    try {
      // On rejection, there is no run to stop.
      const runId = streamed === undefined ? shown : await streamed.catch(() => undefined);
      if (runId !== undefined) await this.#act(runId, 'cancel', {});
    } catch (error) {
      if (!(error instanceof ParleyError && OVER.has(error.code))) throw error;
    } finally {
      await chat.stop();
    }
  }

  /** Resolves with the id of the run that the message starts. */
  async #send(message: M, { chatId, messageId, body, abortSignal }: SendOptions<M>): Promise<string> {
    const signal = abortSignal === undefined ? {} : { signal: abortSignal };
    const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
    const attachments = [];
    for (const part of message.parts) {
      if (part.type !== 'file') continue;
      // `useChat` turns its files into data URLs.
      const blob = await (await fetch(part.url, signal)).blob();
      const file = await this.#client.upload(Object.assign(blob, { name: part.filename ?? 'file' }));
      attachments.push(file);
    }
    const fields: SendMessageBody = {
      ...(text === '' ? {} : { body: text }),
      ...(attachments.length === 0 ? {} : { attachments }),
      ...body,
      client_message_id: message.id,
    };
    const sent = await this.#client.send(chatId, fields, signal);
    if (messageId !== undefined && (sent.body ?? '').trim() !== text.trim()) {
      throw cannot('A message that an agent has read is not replaced. Send another message.');
    }
    const wanted = { conversationId: chatId, messageId: sent.id, patienceMs: PATIENCE_MS };
    return startedRun(this.#client, { ...wanted, signal: abortSignal });
  }

  /** Sends the decisions about calls that still wait: other people may have decided as well. */
  async #decide(message: M, signal: AbortSignal | undefined): Promise<void> {
    const run = await this.#client.runs.get(message.id, ['actions']);
    signal?.throwIfAborted();
    const waiting = (run.actions ?? []).filter(({ status }) => status === 'pending_review');
    const decisions: ContinueRunBody['decisions'] = [];
    for (const part of message.parts) {
      if (!('approval' in part) || part.state !== 'approval-responded') continue;
      const { id: action_id, approved: approve, reason } = part.approval;
      if (!waiting.some(({ id }) => id === action_id)) continue;
      decisions.push({ action_id, approve, ...(reason === undefined ? {} : { reason }) });
    }
    if (decisions.length > 0) await this.#act(message.id, 'continue', { decisions });
  }

  async #stream(
    chatId: string,
    found: Promise<string>,
    signal: AbortSignal | undefined,
    chunks = new RunChunks(),
  ): Promise<ReadableStream<UIMessageChunk>> {
    this.#streamed.set(chatId, found);
    const over = () => {
      if (this.#streamed.get(chatId) === found) this.#streamed.delete(chatId);
    };
    let runId: string;
    try {
      runId = await found;
      signal?.throwIfAborted();
    } catch (error) {
      over();
      throw error;
    }
    this.#unfinished.set(chatId, { runId });
    const finished = () => {
      over();
      if (this.#unfinished.get(chatId)?.runId === runId) this.#unfinished.delete(chatId);
    };
    return runStream({ client: this.#client, runId, chunks, signal, finished });
  }

  #act(runId: string, action: 'continue' | 'cancel', body: object): Promise<AgentRun> {
    const path = `/v1/ai/runs/${encodeURIComponent(runId)}/actions/${action}`;
    return this.#client.fetch<AgentRun>(path, { method: 'POST', body });
  }
}

function cannot(message: string): ParleyError {
  return new ParleyError('method_not_allowed', message);
}

const ENDED: ReadonlySet<string> = new Set(ENDED_RUNS);
/** The codes for a run that has ended, and for an id that names no run. */
const OVER: ReadonlySet<string> = new Set(['resource_conflict', 'resource_not_found']);
const PATIENCE_MS = 15_000;
/** The time in which an agent begins, if it answers. */
const JUST_SENT_MS = 5_000;
