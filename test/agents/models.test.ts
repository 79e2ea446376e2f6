import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { Patience } from '../../src/features/agents/models/attempt.ts';
import { ModelChain, TURN_LIMITS, type TurnListener } from '../../src/features/agents/models/chain.ts';
import { Cooldowns } from '../../src/features/agents/models/cooldowns.ts';
import { DemoModel } from '../../src/features/agents/models/demo-model.ts';
import {
  type Model,
  ModelError,
  type ModelPart,
  type Prompt,
  type ToolSpec,
  type Turn,
} from '../../src/features/agents/models/model.ts';
import { type ModelChoice, ModelTiers, tierOf } from '../../src/features/agents/models/tiers.ts';
import { type ModelReply, ModelServer } from '../support/model-server.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

/** For tests that wait for a timeout; other tests are patient, also on a busy machine. */
const IMPATIENT = { firstPartMs: 250, stallMs: 250 };
const SOON = new AbortController().signal;

const CREATE_ARTIFACT: ToolSpec = { name: 'create_artifact', description: '', parameters: {} };

const PROMPT: Prompt = {
  instructions: 'You are terse.',
  turns: [{ role: 'user', text: 'Ada: hello' }],
  tools: [],
  temperature: 0.2,
};

/**
 * Records what a run would receive: the current text, and each failover with the discarded text.
 */
function listen() {
  const heard = { text: '', failovers: [] as string[] };
  const listener: TurnListener = {
    onText: (text) => {
      heard.text += text;
    },
    onFailover: ({ provider, model, reason }) => {
      heard.failovers.push(`${provider} ${model}: ${reason} after ${JSON.stringify(heard.text)}`);
      heard.text = '';
    },
  };
  return { heard, listener };
}

function chainOf(choices: readonly ModelChoice[], patience: Partial<Patience> = {}) {
  const keys = { openaiApiKey: null, anthropicApiKey: null };
  const tiers = new ModelTiers({ ...keys, chains: { high: choices }, patience });
  return tiers.chainFor({ tier: 'high' }, 'chat');
}

t.test('models answer through the API of a provider', async (t) => {
  const models = await ModelServer.start(t);
  const one = models.choice('one', { input_price: 2, output_price: 10, context_tokens: 9_000 });
  const two = models.choice('two');

  t.test('a turn: the prompt, the text, the cost', async (t) => {
    models.reply({ text: ['Hel', 'lo ', '\ud83d', '\ude00', '\0!'], usage: { input: 1_000, output: 500 } });
    const { heard, listener } = listen();
    const chain = chainOf([one]);
    const completion = await chain.complete(PROMPT, listener, SOON);
    t.strictSame(completion, {
      provider: 'openai-compatible',
      model: 'one',
      text: 'Hello 😀!',
      calls: [],
      reason: 'stop',
      inputTokens: 1_000,
      outputTokens: 500,
      costUsd: 0.007,
      failovers: [],
    });
    t.equal(heard.text, completion.text);
    t.equal(chain.contextTokens, 9_000);
    const { body, authorization, acceptEncoding } = models.requests.at(-1)!;
    t.equal(authorization, 'Bearer test-key');
    t.equal(acceptEncoding, 'gzip, deflate', 'no Brotli');
    t.strictSame(body, {
      model: 'one',
      temperature: 0.2,
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: 'Ada: hello' },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  t.test('tools: calls come with the text of their arguments, and results go back', async (t) => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } } };
    const tools = [{ name: 'read_doc', description: 'Reads.', parameters }];
    models.reply({
      text: 'Looking. ',
      calls: [
        { name: 'read_doc', arguments: '{"path":  "a"}' },
        { name: 'no_such', arguments: '{"broken' },
        { id: 'call_1', name: 'read_doc', arguments: {} },
      ],
      usage: null,
    });
    const { listener } = listen();
    const completion = await chainOf([two]).complete({ ...PROMPT, tools, temperature: null }, listener, SOON);
    t.match(completion, { text: 'Looking. ', reason: 'calls', inputTokens: null, costUsd: null });
    t.match(completion.calls, [
      { id: 'call_1', name: 'read_doc', arguments: '{"path":  "a"}' },
      { id: 'call_2', name: 'no_such', arguments: '{"broken' },
      { id: /^(?!call_1$)./, name: 'read_doc', arguments: '{}' },
    ]);
    t.notOk('temperature' in models.requests.at(-1)!.body);
    t.match(models.requests.at(-1)!.body.tools, [
      { function: { name: 'read_doc', description: 'Reads.', parameters } },
    ]);

    models.reply('Done.');
    const results = [
      { callId: 'call_1', name: 'read_doc', output: { text: 'x' }, failed: false },
      { callId: 'call_2', name: 'no_such', output: 'There is no such tool.', failed: true },
    ];
    const calls = completion.calls.slice(0, 2);
    const turns = [
      ...PROMPT.turns,
      { role: 'assistant', text: '', calls },
      { role: 'tool', results },
    ] as const;
    await chainOf([two]).complete({ ...PROMPT, turns, tools }, listener, SOON);
    t.strictSame(models.requests.at(-1)!.body.messages.slice(2), [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'read_doc', arguments: '{"path":"a"}' } },
          { id: 'call_2', type: 'function', function: { name: 'no_such', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"text":"x"}' },
      { role: 'tool', tool_call_id: 'call_2', content: 'There is no such tool.' },
    ]);
  });

  const FAILURES: readonly (readonly [string, ModelReply, reason: string, lost: string])[] = [
    ['an HTTP error', { status: 500 }, 'unavailable', ''],
    ['a rate limit', { status: 429, retryAfterSeconds: 60 }, 'rate_limited', ''],
    ['an error mid-stream', { text: 'a b c', breaks: { after: 2, how: 'error' } }, 'unavailable', 'a b'],
    ['a malformed chunk', { text: 'a b c', breaks: { after: 1, how: 'malformed' } }, 'malformed', 'a'],
    ['a cut connection', { text: 'a b c', breaks: { after: 2, how: 'cut' } }, 'cut_off', 'a b'],
    ['a stall', { text: 'a b c', breaks: { after: 2, how: 'stall' } }, 'stalled', 'a b'],
    ['silence from the beginning', { text: 'a', firstTokenMs: 60_000 }, 'stalled', ''],
    ['a stream without an end', { text: 'a b', finish: null }, 'cut_off', 'a b'],
    ['a refusal', { text: 'I cannot', finish: 'content_filter' }, 'refused', 'I cannot'],
    [
      'arguments too large to be meant',
      { calls: [{ name: 'x', arguments: { text: 'x'.repeat(TURN_LIMITS.argumentsBytes) } }] },
      'malformed',
      '',
    ],
  ];
  for (const [what, reply, reason, lost] of FAILURES) {
    t.test(`${what}: the next model answers`, async (t) => {
      models.reply(reply, 'one').reply('from the second', 'two');
      const { heard, listener } = listen();
      const chain = chainOf([one, two], reason === 'stalled' ? IMPATIENT : {});
      const completion = await chain.complete(PROMPT, listener, SOON);
      t.match(completion, { model: 'two', text: 'from the second' });
      t.strictSame(completion.failovers, [{ provider: 'openai-compatible', model: 'one', reason }]);
      t.strictSame(heard, {
        text: 'from the second',
        failovers: [`openai-compatible one: ${reason} after ${JSON.stringify(lost)}`],
      });
    });
  }

  t.test('a server that is not there: the next model answers', async (t) => {
    models.reply('here');
    const gone = { ...one, base_url: 'http://127.0.0.1:1/v1' };
    const completion = await chainOf([gone, two]).complete(PROMPT, listen().listener, SOON);
    t.match(completion, { text: 'here', failovers: [{ reason: 'unavailable' }] });
  });

  t.test('a model that was given up is hung up on', async (t) => {
    models.reply({ text: 'a b', breaks: { after: 1, how: 'stall' } }, 'one').reply('two', 'two');
    await chainOf([one, two], IMPATIENT).complete(PROMPT, listen().listener, SOON);
    t.equal(await models.requests.at(-2)!.over, 'aborted');
    t.equal(await models.requests.at(-1)!.over, 'complete');
  });

  t.test('all models fail: the error names the last reason, and no secret leaks', async (t) => {
    models.reply({ status: 500 }, 'one').reply({ text: 'a', breaks: { after: 1, how: 'error' } }, 'two');
    const { heard, listener } = listen();
    const error = await chainOf([one, two])
      .complete(PROMPT, listener, SOON)
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    if (!(error instanceof ModelError)) throw error;
    t.equal(error.reason, 'unavailable');
    t.equal(error.message, 'No model answered. The last one: The model reported an error (server_error).');
    t.notMatch(JSON.stringify([error, error.message, error.stack, error.cause]), /sk-secret|test-key|http:/);
    t.equal(heard.text, 'a', 'what the last one said stands');
  });

  t.test('a rate-limited model is left alone until it wants to be asked', async (t) => {
    const chain = chainOf([one, two]);
    models.reply({ status: 429, retryAfterSeconds: 60 }, 'one').reply('a', 'two').reply('b', 'two');
    await chain.complete(PROMPT, listen().listener, SOON);
    const asked = models.requests.length;
    const { listener, heard } = listen();
    t.match(await chain.complete(PROMPT, listener, SOON), { text: 'b', failovers: [] });
    t.strictSame(heard.failovers, []);
    t.equal(models.requests.length, asked + 1);
    models.reply({ status: 429, retryAfterSeconds: 60 }, 'two');
    await t.rejects(chain.complete(PROMPT, listener, SOON), { message: /The model takes no more requests/ });
    await t.rejects(chain.complete(PROMPT, listener, SOON), {
      message: 'Every model is rate-limited for now.',
    });
    t.equal(models.requests.length, asked + 2, 'none was asked again');
  });

  t.test('a chain that is free soon is waited for and asked once more', async (t) => {
    const soon = { status: 429, retryAfterSeconds: 0.2 };
    const asked = models.requests.length;
    models.reply(soon, 'one').reply(soon, 'two').reply('now');
    const completion = await chainOf([one, two]).complete(PROMPT, listen().listener, SOON);
    t.match(completion, {
      text: 'now',
      failovers: [
        { model: 'one', reason: 'rate_limited' },
        { model: 'two', reason: 'rate_limited' },
      ],
    });
    t.equal(models.requests.length, asked + 3);

    const chain = chainOf([one]);
    models.reply(soon).reply(soon).reply('at last');
    await t.rejects(chain.complete(PROMPT, listen().listener, SOON), ModelError);
    t.equal(models.requests.length, asked + 5, 'once');
    t.match(await chain.complete(PROMPT, listen().listener, SOON), { text: 'at last', failovers: [] });
  });

  t.test('a model that failed for another reason is not asked again', async (t) => {
    const from = models.requests.length;
    models.reply({ status: 500 }, 'one').reply({ status: 429, retryAfterSeconds: 0.2 }, 'two').reply('now');
    const { heard, listener } = listen();
    t.match(await chainOf([one, two]).complete(PROMPT, listener, SOON), { text: 'now' });
    t.strictSame(
      models.requests.slice(from).map(({ model }) => model),
      ['one', 'two', 'two'],
    );
    t.equal(heard.failovers.length, 2);
  });

  t.test('an abort ends it, mid-stream and before', async (t) => {
    models.reply({ text: 'a b', breaks: { after: 1, how: 'stall' } }, 'one');
    const abort = new AbortController();
    const reason = new Error('cancelled');
    const { heard, listener } = listen();
    const turn = chainOf([one, two]).complete(
      PROMPT,
      {
        ...listener,
        onText: (text) => {
          listener.onText(text);
          abort.abort(reason);
        },
      },
      abort.signal,
    );
    await t.rejects(turn, reason);
    t.strictSame(heard, { text: 'a', failovers: [] });
    t.equal(await models.requests.at(-1)!.over, 'aborted');
    await t.rejects(chainOf([one]).complete(PROMPT, listener, abort.signal), reason);
  });

  t.test('a turn that takes too long, though it never falls silent', async (t) => {
    models.reply({ text: 'a '.repeat(1_000), tokensPerSecond: 50 }, 'one').reply('quick', 'two');
    const chain = chainOf([one, two], { turnMs: 200 });
    t.match(await chain.complete(PROMPT, listen().listener, SOON), {
      text: 'quick',
      failovers: [{ reason: 'stalled' }],
    });
  });

  t.test('text and calls are bounded', async (t) => {
    const calls = Array.from({ length: TURN_LIMITS.calls + 1 }, () => ({ name: 'x', arguments: {} }));
    models.reply({ calls });
    const { calls: kept } = await chainOf([one]).complete(PROMPT, listen().listener, SOON);
    t.equal(kept.length, TURN_LIMITS.calls);
    models.reply({ text: ['x'.repeat(TURN_LIMITS.textCharacters - 1), '😀', 'more'] });
    const { heard, listener } = listen();
    const { text, reason } = await chainOf([one]).complete(PROMPT, listener, SOON);
    t.equal(text.length, TURN_LIMITS.textCharacters - 1, 'no pair is split');
    t.equal(reason, 'length');
    t.equal(heard.text, text);
  });
});

t.test('the vendors by their own protocols', async (t) => {
  const tools = [{ name: 'read_doc', description: 'Reads.', parameters: { type: 'object', properties: {} } }];
  const result = { callId: 'c0', name: 'read_doc', output: [1], failed: false };
  const turns: Turn[] = [
    ...PROMPT.turns,
    { role: 'assistant', text: 'Wait.', calls: [{ id: 'c0', name: 'read_doc', arguments: '{"path":"a"}' }] },
    { role: 'tool', results: [result] },
  ];
  const ask = async (provider: 'anthropic' | 'openai', model: string, events: readonly object[]) => {
    const { url, bodies } = await serveEvents(t, events);
    const chain = chainOf([{ provider, model, api_key: 'k', base_url: url }]);
    const completion = await chain.complete({ ...PROMPT, turns, tools }, listen().listener, SOON);
    return { completion, body: bodies[0] };
  };

  t.test('requests to Anthropic have the form of its API', async (t) => {
    const block = (index: number, content_block: object, ...deltas: object[]) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const usage = { input_tokens: 1_000, output_tokens: 1 };
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage };
    const { completion, body } = await ask('anthropic', 'claude-haiku-5-5', [
      { type: 'message_start', message },
      { type: 'ping' },
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hi' }),
      ...block(
        1,
        { type: 'tool_use', id: 'c1', name: 'read_doc', input: {} },
        { type: 'input_json_delta', partial_json: '{"path": ' },
        { type: 'input_json_delta', partial_json: '"b"}' },
      ),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 200 } },
      { type: 'message_stop' },
    ]);
    t.match(completion, {
      text: 'Hi',
      reason: 'calls',
      calls: [{ id: 'c1', name: 'read_doc', arguments: '{"path": "b"}' }],
      inputTokens: 1_000,
      outputTokens: 200,
      costUsd: 0.0002,
    });
    t.match(body, {
      model: 'claude-haiku-5-5',
      system: [{ text: 'You are terse.' }],
      messages: [
        { role: 'user', content: [{ text: 'Ada: hello' }] },
        { role: 'assistant', content: [{ text: 'Wait.' }, { type: 'tool_use', input: { path: 'a' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: '[1]' }] },
      ],
      tools: [{ name: 'read_doc' }],
    });
    t.notOk('temperature' in Object(body), 'which this model does not take');
  });

  t.test('requests to OpenAI have the form of its API', async (t) => {
    const call = {
      type: 'function_call',
      id: 'fc',
      call_id: 'c1',
      name: 'read_doc',
      arguments: '{"path": "b"}',
    };
    const counts = { input_tokens: 1_000, output_tokens: 200 };
    const { completion, body } = await ask('openai', 'gpt-6-luna', [
      { type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'm' } },
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Hi' },
      { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
      {
        type: 'response.function_call_arguments.delta',
        item_id: 'fc',
        output_index: 1,
        delta: call.arguments,
      },
      { type: 'response.output_item.done', output_index: 1, item: { ...call, status: 'completed' } },
      { type: 'response.completed', response: { incomplete_details: null, usage: counts } },
    ]);
    t.match(completion, {
      text: 'Hi',
      reason: 'calls',
      calls: [{ id: 'c1', name: 'read_doc', arguments: '{"path": "b"}' }],
      inputTokens: 1_000,
      outputTokens: 200,
      costUsd: 0.0002,
    });
    t.match(body, {
      model: 'gpt-6-luna',
      store: false,
      input: [
        { role: 'developer', content: 'You are terse.' },
        { role: 'user', content: [{ text: 'Ada: hello' }] },
        { role: 'assistant', content: 'Wait.' },
        { type: 'function_call', call_id: 'c0', name: 'read_doc', arguments: '{"path":"a"}' },
        { type: 'function_call_output', call_id: 'c0', output: '[1]' },
      ],
      tools: [{ type: 'function', name: 'read_doc' }],
    });
  });
});

/** Answers each request with these events, and records the requests. */
async function serveEvents(t: Teardown, events: readonly object[]) {
  const bodies: unknown[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(await text(request)));
    response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'close' });
    for (const event of events) {
      const { type } = event as { type: string };
      response.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies };
}

t.test('the wait for a chain that is rate-limited', async (t) => {
  const NONE = { message: /^No model answered/ };
  const turnOf = (models: readonly Model[], cooldowns: Cooldowns, mostWaitMs: number) =>
    new ModelChain(models, { cooldowns, mostWaitMs }).complete(PROMPT, listen().listener, SOON);

  t.test('is at an end with an abort', async (t) => {
    const { model, asked } = limited(9_000);
    const cooldowns = new Cooldowns();
    const abort = new AbortController();
    const turn = new ModelChain([model], { cooldowns }).complete(PROMPT, listen().listener, abort.signal);
    const rejected = t.rejects(turn, { message: 'cancelled' });
    await until(() => cooldowns.left(model) > 0, { what: 'the model has asked for a pause' });
    abort.abort(new Error('cancelled'));
    await rejected;
    t.equal(asked.length, 1);
  });

  t.test('is no longer than a turn may wait, including earlier waits', async (t) => {
    const { model, asked } = limited(20);
    const cooldowns = new Cooldowns(() => 0);
    cooldowns.recordFailure(model, LIMITED(20));
    await t.rejects(turnOf([model], cooldowns, 30), NONE);
    t.equal(asked.length, 1);
    await t.rejects(turnOf([model], cooldowns, 40), NONE);
    t.equal(asked.length, 3);
  });

  t.test('continues with a model that has become free', async (t) => {
    let nowMs = 0;
    const [first, second] = [limited(20, ({ length }) => (nowMs = length > 1 ? 50 : 0)), limited(30)];
    await t.rejects(turnOf([first.model, second.model], new Cooldowns(() => nowMs), 20), NONE);
    t.strictSame([first.asked.length, second.asked.length], [2, 2]);
  });

  t.test('is none where the pause is over by then', async (t) => {
    let nowMs = 0;
    const first = limited(60_000);
    const later: Model = {
      provider: 'test',
      model: 'later',
      contextTokens: 1_000,
      async *stream() {
        yield* [];
        nowMs = 70_000;
        throw new ModelError('stalled', 'It said nothing.');
      },
    };
    const turn = turnOf([first.model, later], new Cooldowns(() => nowMs), 0);
    await t.rejects(turn, NONE);
    t.equal(first.asked.length, 2);
  });
});

const LIMITED = (retryAfterMs: number) => new ModelError('rate_limited', 'Not now.', retryAfterMs);

/** A model that wants to be left alone whenever it is asked. */
function limited(retryAfterMs: number, onAsked: (asked: readonly Prompt[]) => void = () => {}) {
  const asked: Prompt[] = [];
  const model: Model = {
    provider: 'test',
    model: 'limited',
    contextTokens: 1_000,
    async *stream(prompt) {
      yield* [];
      asked.push(prompt);
      onAsked(asked);
      throw LIMITED(retryAfterMs);
    },
  };
  return { model, asked };
}

t.test('a thinking model is given more time than a silent one', async (t) => {
  const thinking: ModelPart = { type: 'thinking' };
  const slow: Model = {
    provider: 'test',
    model: 'slow',
    contextTokens: 1_000,
    async *stream() {
      yield thinking;
      await new Promise((resolve) => setTimeout(resolve, 60));
      yield { type: 'text', text: 'thought' };
      yield { type: 'end', reason: 'stop', inputTokens: null, outputTokens: null, costUsd: null };
    },
  };
  const chain = new ModelChain([slow], { patience: { firstPartMs: 30, stallMs: 30, thinkingMs: 5_000 } });
  t.match(await chain.complete(PROMPT, listen().listener, SOON), { text: 'thought' });
});

t.test('a tier resolves to its chain of models', async (t) => {
  const keys = { openaiApiKey: null, anthropicApiKey: null };
  t.equal(tierOf({ tier: 'cheap' }, 'chat'), 'cheap');
  t.strictSame(
    (['chat', 'manual', 'scheduled', 'event'] as const).map((trigger) => tierOf({ tier: null }, trigger)),
    ['high', 'high', 'balanced', 'balanced'],
  );

  t.test('one that is not named takes the nearest chain, the cheaper of two', async (t) => {
    const models = await ModelServer.start(t);
    models.otherwise(({ model }) => `from ${model}`);
    const chains = { frontier: [models.choice('best')], balanced: [models.choice('plain')] };
    const tiers = new ModelTiers({ ...keys, chains });
    const answers: string[] = [];
    for (const tier of ['frontier', 'high', 'balanced', 'cheap', 'legacy'] as const) {
      const { text } = await tiers.chainFor({ tier }, 'chat').complete(PROMPT, listen().listener, SOON);
      answers.push(text);
    }
    t.strictSame(answers, ['from best', 'from plain', 'from plain', 'from plain', 'from plain']);
  });

  t.test('keys alone give chains of both vendors', async (t) => {
    const tiers = new ModelTiers({ openaiApiKey: 'a', anthropicApiKey: 'b', chains: null });
    t.equal(tiers.chainFor({ tier: 'frontier' }, 'chat').contextTokens, 200_000);
  });

  t.test('without keys of providers the demo model answers', async (t) => {
    const chain = new ModelTiers({ ...keys, chains: null }).chainFor({ tier: null }, 'event');
    const { heard, listener } = listen();
    t.match(await chain.complete(PROMPT, listener, SOON), {
      provider: 'demo',
      text: 'Demo model (no model is configured). You said, backwards: hello',
      costUsd: 0,
    });
    t.match(heard, { text: /backwards: hello$/ });
  });
});

t.test('the demo model answers without a provider', async (t) => {
  const demo = new DemoModel({ wordsPerSecond: 10_000 });
  const answerTo = async (text: string) => {
    let answer = '';
    for await (const part of demo.stream({ ...PROMPT, turns: [{ role: 'user', text }] }, SOON)) {
      if (part.type === 'text') answer += part.text;
    }
    return answer;
  };
  t.equal(
    await answerTo('Ada: first\nBo (customer): how is\n  the weather?'),
    'Demo model (no model is configured). You said, backwards: weather? the is how',
  );
  t.equal(await answerTo(''), 'Demo model (no model is configured). You said nothing.');
  t.equal((await answerTo('word '.repeat(5_000))).split(' ').length, 9 + 180);

  const partsOf = async (turns: readonly Turn[], tools = [CREATE_ARTIFACT]) => {
    const parts: ModelPart[] = [];
    for await (const part of demo.stream({ ...PROMPT, turns, tools }, SOON)) parts.push(part);
    return parts;
  };
  const asking: Turn = { role: 'user', text: 'Ada: first\nBo: Create a summary, please' };
  const [call, end] = await partsOf([asking]);
  t.match(call, { type: 'call', call: { name: 'create_artifact', arguments: /summary\.md.*Ada: first/ } });
  t.match(end, { type: 'end', reason: 'calls' });
  t.match(await partsOf([asking], []), [{ type: 'text', text: 'Demo' }], 'an agent without the tool');
  const later: Turn[] = [asking, { role: 'user', text: 'Bo: thanks' }];
  t.match(await partsOf(later), [{ type: 'text', text: 'Demo' }], 'only what was asked last counts');
  for (const [failed, outcome] of [
    [false, 'create_artifact was carried out.'],
    [true, 'create_artifact was not carried out.'],
  ] as const) {
    const results = [{ callId: 'summary', name: 'create_artifact', output: {}, failed }];
    const parts = await partsOf([asking, { role: 'tool', results }]);
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    t.ok(text.endsWith(outcome), text);
  }

  const abort = new AbortController();
  const reason = new Error('enough');
  const cut = async () => {
    for await (const _ of new DemoModel({ wordsPerSecond: 0.001 }).stream(PROMPT, abort.signal)) {
      setImmediate(() => abort.abort(reason));
    }
  };
  await t.rejects(cut(), reason);
});
