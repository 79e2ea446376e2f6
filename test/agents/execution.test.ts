/** One claim of a run, with a model and tools that misbehave in every way. */

import { newId } from '@parley/protocol/ids.ts';
import { RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import t from 'tap';
import type { Principal } from '../../src/api/access/principal.ts';
import type { AgentRow } from '../../src/core/resources/agent.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import type { Completion } from '../../src/features/agents/models/chain.ts';
import type { Prompt } from '../../src/features/agents/models/model.ts';
import { BufferedReply } from '../../src/features/agents/replies/reply-text.ts';
import { Execution, type ExecutionOptions } from '../../src/features/agents/runs/execution/execution.ts';
import { RunFailure, reasonOf, Stop, untilBack } from '../../src/features/agents/runs/execution/failure.ts';
import { takeRun } from '../../src/features/agents/runs/state/lease-store.ts';
import { startRun } from '../../src/features/agents/runs/state/start.ts';
import { insertAgent } from '../../src/features/agents/store.ts';
import type { RunTool } from '../../src/features/agents/tools/tool.ts';
import { DatabaseUnavailableError } from '../../src/platform/db/connection/unavailable.ts';
import { createLog } from '../../src/platform/log.ts';
import { createGround } from '../support/timeline.ts';

const WINDOW = 20_000;

const { database, accountId } = await createGround(t);
const agent = await database.transaction((tx) =>
  insertAgent(tx, {
    account_id: accountId,
    name: 'Hand',
    slug: 'hand',
    category_code: 'ops',
    trigger_type: 'manual',
  }),
);

t.test('whatever tools answer, a prompt fits into the window, and the newest is whole', async (t) => {
  const prompts: Prompt[] = [];
  const answers = ['a'.repeat(60_000), 'b'.repeat(50_000), 'the last'];
  const run = await claimed();
  const execution = executionOf(run, {
    tools: [tool(async () => ({ output: { text: answers[prompts.length - 1] } }))],
    chain: scripted((prompt) => {
      prompts.push(prompt);
      return prompts.length <= 3 ? [{ id: 'c', name: 'tool', arguments: '{}' }] : [];
    }),
  });
  t.equal(await execution.run(), 'completed');
  const sizes = prompts.map((prompt) => JSON.stringify(prompt.turns).length / 3.5);
  t.ok(
    sizes.every((size) => size < WINDOW),
    `${sizes} tokens`,
  );
  const results = prompts.at(-1)!.turns.flatMap((turn) => (turn.role === 'tool' ? turn.results : []));
  t.match(results, [
    { output: /^\{"text":"aa.*a \[cut\]$/ },
    { output: /b"\}$/ },
    { output: '{"text":"the last"}' },
  ]);
});

t.test('a run that reads without end is ended before its rows are too much', async (t) => {
  const big = 'x'.repeat(RUN_LIMITS.bytes / 3);
  const run = await claimed();
  const execution = executionOf(run, {
    tools: [tool(async () => ({ output: big }))],
    chain: scripted(() => [{ id: 'c', name: 'tool', arguments: '{}' }]),
  });
  await t.rejects(
    execution.run(),
    new RunFailure('The texts and tool results of the run exceed the size limit.'),
  );
});

t.test('a call that never returns does not keep the run from ending', async (t) => {
  const abort = new AbortController();
  const begun = Promise.withResolvers<void>();
  const run = await claimed();
  const execution = executionOf(run, {
    signal: abort.signal,
    tools: [
      tool(() => {
        begun.resolve();
        return new Promise(() => {});
      }),
    ],
    chain: scripted(() => [{ id: 'c', name: 'tool', arguments: '{}' }]),
  });
  const running = execution.run();
  await begun.promise;
  abort.abort(new Stop('cancelled'));
  await t.rejects(running, new Stop('cancelled'));
});

t.test('once a cancel is requested, no further call of the run begins', async (t) => {
  let calls = 0;
  const run = await claimed();
  const execution = executionOf(run, {
    tools: [tool(async () => ({ output: ++calls }))],
    chain: {
      contextTokens: WINDOW,
      async complete() {
        const set = { cancel_requested_at: new Date().toISOString() };
        await database.kysely.updateTable('agent_runs').set(set).where('id', '=', run.id).execute();
        return completion([{ id: 'c', name: 'tool', arguments: '{}' }]);
      },
    },
  });
  await t.rejects(execution.run(), new Stop('cancelled'));
  t.equal(calls, 0);
});

t.test(
  "whether a call waits for approval is decided by the tool's setting when the model requests it",
  async (t) => {
    let calls = 0;
    const run = await claimed();
    const free = tool(async () => ({ output: ++calls }));
    const execution = executionOf(run, {
      tools: [free],
      readTools: async () => [{ ...free, needsReview: true }],
      chain: scripted(() => [{ id: 'c', name: 'tool', arguments: '{}' }]),
    });
    t.equal(await execution.run(), 'paused');
    t.match(await actionsOf(run), [{ status: 'pending_review' }]);
    t.equal(calls, 0);
  },
);

t.test(
  'in a run that a mail started, a call that reaches outside the account waits for approval',
  async (t) => {
    for (const [url, isStartedByMail, outcome] of [
      ['https://outside.example', true, 'paused'],
      ['https://outside.example', false, 'completed'],
      ['', true, 'completed'],
    ] as const) {
      const run = await claimed();
      const asking: RunTool = {
        ...tool(async () => ({ output: 'called' })),
        reachesOutside: (args) => args.url !== '',
      };
      let turns = 0;
      const execution = executionOf(run, {
        isStartedByMail,
        tools: [asking],
        chain: scripted(() =>
          turns++ === 0 ? [{ id: 'c', name: 'tool', arguments: JSON.stringify({ url }) }] : [],
        ),
      });
      t.equal(await execution.run(), outcome, `${url} ${isStartedByMail}`);
    }
  },
);

t.test('a tool that is removed during a run is not called any more, and not offered', async (t) => {
  const offered: string[][] = [];
  const run = await claimed();
  let tools: RunTool[] = [];
  const taking = tool(async () => {
    tools = [];
    return { output: 'taken' };
  });
  tools = [taking];
  const execution = executionOf(run, {
    tools,
    readTools: async () => tools,
    chain: scripted((prompt) => {
      offered.push(prompt.tools.map(({ name }) => name));
      const ids = [['a', 'b'], ['c'], []][offered.length - 1]!;
      return ids.map((id) => ({ id, name: 'tool', arguments: '{}' }));
    }),
  });
  t.equal(await execution.run(), 'completed');
  t.match(await actionsOf(run), [
    { call_id: 'a', status: 'completed' },
    { call_id: 'b', status: 'failed', error_message: 'The agent has this tool no more.' },
  ]);
  t.strictSame(offered, [['tool'], [], []]);
});

t.test('writes wait for Postgres, except on a server that is stopped', async (t) => {
  let failures = 1;
  const work = () =>
    failures-- > 0 ? Promise.reject(new DatabaseUnavailableError('gone')) : Promise.resolve(1);
  t.equal(await untilBack(work, new AbortController().signal), 1);
  failures = 1;
  await t.rejects(untilBack(work, AbortSignal.abort(new Stop('stopping'))), DatabaseUnavailableError);
  const wrong = () => Promise.reject(new Error('no such column'));
  await t.rejects(untilBack(wrong, new AbortController().signal), /no such column/);
});

t.test('errors of drivers are not shown to people', async (t) => {
  t.equal(
    reasonOf(new Error('password authentication failed for "parley"')),
    'Something went wrong inside the service.',
  );
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' });
  t.equal(reasonOf(refused), 'The service was not available for a moment.');
  t.equal(reasonOf(new RunFailure('The agent was deleted.')), 'The agent was deleted.');
  t.equal(reasonOf('x'), 'Something went wrong inside the service.');
});

function executionOf(
  run: RunRow,
  options: Pick<ExecutionOptions, 'tools' | 'chain'> & Partial<ExecutionOptions>,
) {
  return new Execution({
    database,
    run,
    agent: agent as AgentRow,
    admit: at,
    log: createLog('silent'),
    principal: async () => ({}) as Principal,
    reply: new BufferedReply(),
    instructions: 'Do it.',
    isStartedByMail: false,
    history: [{ role: 'user', text: 'Go on.' }],
    readTools: async () => options.tools,
    signal: new AbortController().signal,
    ...options,
  });
}

function at<T>(work: () => Promise<T>): Promise<T> {
  return work();
}

function tool(call: RunTool['call']): RunTool {
  const spec = { name: 'tool', description: '', parameters: { type: 'object', properties: {} } };
  const facts = { category: 'built_in', mutating: false, needsReview: false } as const;
  return { slug: 'tool', ...facts, spec, reachesOutside: () => true, call };
}

function scripted(callsFor: (prompt: Prompt) => Completion['calls']): ExecutionOptions['chain'] {
  return { contextTokens: WINDOW, complete: async (prompt) => completion(callsFor(prompt)) };
}

function completion(calls: Completion['calls']): Completion {
  return {
    provider: 'p',
    model: 'm',
    text: '',
    calls,
    reason: calls.length > 0 ? 'calls' : 'stop',
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    failovers: [],
  };
}

function actionsOf({ id }: RunRow) {
  return database.kysely
    .selectFrom('agent_run_actions')
    .selectAll()
    .where('run_id', '=', id)
    .orderBy('step_id')
    .orderBy('position')
    .execute();
}

async function claimed(): Promise<RunRow> {
  const { id } = await database.transaction(async (tx) => {
    const trigger = { type: 'manual', key: newId('agentRun'), input: null, by: null } as const;
    const nowhere = { conversationId: null, messageId: null, depth: 0, rootId: null };
    return (await startRun(tx, agent, { ...trigger, ...nowhere }))!;
  });
  return (await takeRun(database, 'node', id))!;
}
