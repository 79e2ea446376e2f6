/**
 * The chunks of the AI SDK that the states of a run make, and the messages that its own reader
 * makes of them.
 */

import type { AgentRun, AgentRunAction, AgentRunStep } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import t from 'tap';
import { RunChunks } from '../ai/run-chunks.ts';
import { shownSteps } from '../ai/shown-steps.ts';
import { toUIMessages } from '../ai/ui-messages.ts';

const TIME = '2026-01-01T00:00:00.000Z';

interface State {
  /** The text of the run's message. */
  readonly text?: string;
  /** The texts of the finished turns; null is one that is being written. */
  readonly steps?: readonly (string | null)[];
  readonly actions?: readonly AgentRunAction[];
  readonly status?: AgentRun['status'];
  readonly error?: string;
  /** Why the last turn is not whole. */
  readonly incomplete?: AgentRunStep['incomplete'];
}

t.test('a text grows from delta to delta, and ends with its turn', async (t) => {
  const states: State[] = [
    {},
    { steps: [null] },
    { steps: [null], text: 'One' },
    { steps: [null], text: 'One word' },
    { steps: ['One word'], text: 'One word', status: 'completed' },
  ];
  t.strictSame(chunksOf(states), [
    { type: 'start-step' },
    { type: 'text-start', id: 'text-0' },
    { type: 'text-delta', id: 'text-0', delta: 'One' },
    { type: 'text-delta', id: 'text-0', delta: ' word' },
    { type: 'text-end', id: 'text-0' },
    { type: 'finish-step' },
    { type: 'finish', finishReason: 'stop' },
  ]);
});

t.test('an answer that was cut at the limit of the model says so', async (t) => {
  const cut: State = { steps: ['One', 'The refund takes'], incomplete: 'length' };
  const ending = (state: State) => chunksOf([state]).at(-1);
  t.notMatch(ending(cut), { type: 'finish' });
  t.strictSame(ending({ ...cut, status: 'completed' }), { type: 'finish', finishReason: 'length' });
  t.strictSame(ending({ ...cut, status: 'awaiting_approval' }), {
    type: 'finish',
    finishReason: 'tool-calls',
  });
});

t.test('what a failed attempt or a dead node took back is reset', async (t) => {
  const states: State[] = [
    { text: 'It fa' },
    { text: 'It' },
    { text: 'It is done.', steps: [null] },
    { text: 'It is', steps: [null], status: 'failed', error: 'Its node died.' },
  ];
  const chunks = chunksOf(states);
  t.equal(chunks.filter(({ type }) => type === 'reset-step').length, 2);
  t.strictSame(chunks.slice(-2), [
    { type: 'finish', finishReason: 'error' },
    { type: 'error', errorText: 'Its node died.' },
  ]);
  t.strictSame(textsOf(await messageOf(chunks)), ['It is']);
});

t.test('turns become steps, whichever of text and turns is heard of first', async (t) => {
  const call = action({ step_id: 'step_1', status: 'completed', result: { found: 3 } });
  const inOrder: State[] = [
    { text: 'Let me look.', steps: [null] },
    {
      text: 'Let me look.',
      steps: ['Let me look.'],
      actions: [action({ step_id: 'step_1', status: 'executing' })],
    },
    { text: 'Let me look.', steps: ['Let me look.', null], actions: [call] },
    { text: 'Let me look.\n\nThere are', steps: ['Let me look.', null], actions: [call] },
  ];
  const textFirst: State[] = [
    { text: 'Let me', steps: [null] },
    { text: 'Let me look.\n\nThere', steps: [null] },
    { text: 'Let me look.\n\nThere are', steps: ['Let me look.'], actions: [call] },
  ];
  const turnsFirst: State[] = [
    { text: 'Let', steps: ['Let me look.', null], actions: [call] },
    { text: 'Let me look.', steps: ['Let me look.', null], actions: [call] },
  ];
  const end: State = {
    text: 'Let me look.\n\nThere are three.',
    steps: ['Let me look.', 'There are three.'],
    actions: [call],
    status: 'completed',
  };
  for (const states of [inOrder, textFirst, turnsFirst, []]) {
    const { parts } = await messageOf(chunksOf([...states, end]));
    t.match(parts, [
      { type: 'step-start' },
      { type: 'text', text: 'Let me look.', state: 'done' },
      {
        type: 'dynamic-tool',
        toolName: 'look',
        toolCallId: 'act_1',
        state: 'output-available',
        output: { found: 3 },
      },
      { type: 'step-start' },
      { type: 'text', text: 'There are three.', state: 'done' },
    ]);
    t.equal(parts.length, 5);
  }
});

t.test(
  'a call that waits: the request, the decision, and the rest of the run in the same message',
  async (t) => {
    const waits = action({ step_id: 'step_1', status: 'pending_review', expires_at: TIME });
    const paused: State = {
      text: 'May I?',
      steps: ['May I?'],
      actions: [waits],
      status: 'awaiting_approval',
    };
    const first = chunksOf([paused]);
    t.match(first.slice(-5), [
      { type: 'text-end' },
      {
        type: 'tool-input-available',
        toolCallId: 'act_1',
        toolName: 'look',
        input: { at: 'it' },
        dynamic: true,
      },
      { type: 'tool-approval-request', approvalId: 'act_1', toolCallId: 'act_1' },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'tool-calls' },
    ]);
    const message = await messageOf(first);
    // As addToolApprovalResponse leaves it.
    const answered = {
      ...message,
      parts: message.parts.map((part) =>
        'toolCallId' in part
          ? { ...part, state: 'approval-responded', approval: { id: 'act_1', approved: true } }
          : part,
      ),
    } as UIMessage;
    const decided = { ...waits, reviewed_at: TIME };
    const rest: State[] = [
      { ...paused, actions: [{ ...decided, status: 'executing' }], status: 'running' },
      { text: 'May I?', steps: ['May I?', null], actions: [{ ...decided, status: 'completed', result: 1 }] },
      { text: 'Done.', steps: ['May I?', null], actions: [{ ...decided, status: 'completed', result: 1 }] },
      {
        text: 'Done. Bye.',
        steps: ['May I?', 'Done. Bye.'],
        status: 'completed',
        actions: [{ ...decided, status: 'completed', result: 1 }],
      },
    ];
    const chunks = chunksOf(rest, answered);
    t.strictSame(
      chunks.map(({ type }) => type),
      [
        'tool-output-available',
        'finish-step',
        'start-step',
        'text-start',
        'text-delta',
        'text-delta',
        'text-end',
        'finish-step',
        'finish',
      ],
    );
    const live = await messageOf(chunks, answered);
    t.strictSame(textsOf(live), ['May I?', 'Done. Bye.']);
    // A page that is opened later has the same, from the start.
    const late = await messageOf(chunksOf(rest.slice(-1)));
    t.strictSame(textsOf(late), ['May I?', 'Done. Bye.']);
    t.match(late.parts[2], { state: 'output-available', approval: { id: 'act_1', approved: true } });
  },
);

for (const [name, fields, part] of [
  [
    'rejected',
    { status: 'rejected', reason: 'No.', reviewed_at: TIME },
    { state: 'output-denied', approval: { approved: false, reason: 'No.' } },
  ],
  ['expired', { status: 'expired' }, { state: 'output-denied', approval: { approved: false } }],
  [
    'failed',
    { status: 'failed', error_message: 'Broken.', reviewed_at: TIME },
    { state: 'output-error', errorText: 'Broken.' },
  ],
  ['cancelled', { status: 'cancelled' }, { state: 'output-error' }],
] as const) {
  t.test(`a call that was ${name}`, async (t) => {
    const call = action({ step_id: 'step_1', expires_at: TIME, ...fields });
    const { parts } = await messageOf(
      chunksOf([{ steps: ['Hm.'], text: 'Hm.', actions: [call], status: 'completed' }]),
    );
    t.match(parts[2], part);
  });
}

t.test('a draft has the text from before the pause too, and a cancelled run what it had', async (t) => {
  const call = action({ step_id: 'step_1', status: 'completed', expires_at: TIME, reviewed_at: TIME });
  const states: State[] = [
    { text: 'Dear Cleo,', steps: ['Dear Cleo,', null], actions: [call] },
    { text: 'Dear Cleo,\n\nIt is', steps: ['Dear Cleo,', null], actions: [call] },
    { text: 'Dear Cleo,\n\nIt is', steps: ['Dear Cleo,', null], actions: [call], status: 'cancelled' },
  ];
  const chunks = chunksOf(states);
  t.strictSame(textsOf(await messageOf(chunks)), ['Dear Cleo,', 'It is']);
  t.match(chunks.slice(-2), [{ type: 'abort' }, { type: 'finish', finishReason: 'interrupted' }]);
});

t.test('messages of a conversation: the texts of a run are one message with its id', async (t) => {
  const messages = [
    message({ id: 'msg_1', client_message_id: 'mine', body: 'Hello.' }),
    message({ id: 'msg_2', agent_run_id: 'run_1', body: 'May I?' }),
    message({ id: 'msg_3', body: 'From another.' }),
    message({ id: 'msg_4', agent_run_id: 'run_1', body: 'Don', streaming_state: 'streaming' }),
    message({ id: 'msg_5', kind: 'system_event', body: null }),
    message({ id: 'msg_6', deleted_at: TIME, body: null }),
  ];
  t.match(toUIMessages(messages), [
    { id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] },
    {
      id: 'run_1',
      role: 'assistant',
      parts: [
        { text: 'May I?', state: 'done' },
        { text: 'Don', state: 'streaming' },
      ],
    },
    { id: 'msg_3', role: 'user' },
  ]);
  t.equal(toUIMessages(messages).length, 3);
});

/** Returns the chunks that these states make, one after the other. */
function chunksOf(states: readonly State[], shown?: UIMessage): UIMessageChunk[] {
  const chunks = new RunChunks(shown);
  return states.flatMap(({ text = '', steps = [], actions = [], incomplete = null, ...run }) => {
    const turns = steps.map(
      (said, index) =>
        ({
          id: `step_${index + 1}`,
          status: said === null ? 'running' : 'completed',
          text: said,
          incomplete: index === steps.length - 1 ? incomplete : null,
        }) as AgentRunStep,
    );
    return [
      ...chunks.next(shownSteps({ steps: turns, actions, text })),
      ...chunks.end({ status: run.status ?? 'running', error_message: run.error ?? null }, turns),
    ];
  });
}

/** Resolves with what the AI SDK makes of the chunks. */
async function messageOf(chunks: readonly UIMessageChunk[], shown?: UIMessage): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      controller.enqueue({ type: 'start', messageId: 'run_1' });
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const given = shown === undefined ? {} : { message: structuredClone(shown) };
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ ...given, stream })) last = message;
  if (last?.id !== 'run_1') throw new Error('no message of the run');
  return last;
}

function textsOf({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function action(fields: Partial<AgentRunAction>): AgentRunAction {
  const none = {
    result: null,
    error_message: null,
    reviewed_by: null,
    reviewed_at: null,
    reason: null,
    expires_at: null,
  };
  return { ...none, id: 'act_1', tool: 'look', arguments: { at: 'it' }, ...fields } as AgentRunAction;
}

function message(fields: Partial<ChatMessage>): ChatMessage {
  const none = {
    agent_run_id: null,
    client_message_id: null,
    deleted_at: null,
    attachments: [],
    streaming_state: null,
  };
  return { ...none, kind: 'chat', sender: null, ...fields } as ChatMessage;
}
