/** Answers of models that are no plain text: their readable parts, ignored parts, and failures. */

import t from 'tap';
import type { TurnListener } from '../../src/features/agents/models/chain.ts';
import { ModelError, type Prompt } from '../../src/features/agents/models/model.ts';
import { ModelTiers } from '../../src/features/agents/models/tiers.ts';
import { type ModelReply, ModelServer } from '../support/model-server.ts';

const PROMPT: Prompt = {
  instructions: 'You are terse.',
  turns: [{ role: 'user', text: 'Ada: hello' }],
  tools: [{ name: 'find', description: 'Finds.', parameters: { type: 'object', properties: {} } }],
  temperature: null,
};

const models = await ModelServer.start(t);

t.test('chunks that differ from the protocol do not end a try', async (t) => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const stop = { choices: [{ delta: {}, finish_reason: 'stop' }] };
  for (const [what, chunk] of Object.entries({
    'no choices': { id: 'x' },
    'null as choices': { id: 'x', choices: null },
    'a choice in the text alone': { id: 'x', note: '"choices":[' },
    'no fields': {},
    'no error': { error: null },
    'no error beside choices': { error: null, choices: [] },
  })) {
    const before = await answerTo({ chunks: [chunk], text: 'All is well.' });
    t.match(before, { heard: 'All is well.', completion: { text: 'All is well.', failovers: [] } }, what);
    const chunks = [delta({ content: 'All is well.' }), stop, { ...chunk, usage }];
    const after = await answerTo({ chunks, finish: null, usage: null });
    t.match(
      after,
      { completion: { text: 'All is well.', inputTokens: 3, outputTokens: 2 } },
      `${what}, after`,
    );
  }

  for (const line of ['data:', 'data: ', 'data:  {"id":"x"}', 'data:\t{}', 'data:{}', ': still here']) {
    const { completion } = await answerTo({ chunks: [`${line}\n\n`], text: 'All is well.' });
    t.match(completion, { text: 'All is well.', failovers: [] }, JSON.stringify(line));
  }
  for (const end of ['data: [DONE] \r\n\r\n', `data: ${JSON.stringify({ ...stop, usage })}`]) {
    const chunks = [delta({ content: 'All is well.' }), stop, end];
    const { completion } = await answerTo({ chunks, finish: null, usage: null, isClosed: false });
    t.match(completion, { text: 'All is well.', failovers: [] }, end);
    t.equal(completion.inputTokens, end.includes('usage') ? 3 : null, end);
  }

  const call = (args: unknown) => ({
    tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'find', arguments: args } }],
  });
  const text = 'a "choices":[ and "arguments":{';
  for (const args of [{}, { path: { id: 'a' } }, { text }]) {
    const { completion } = await answerTo({ chunks: [delta(call(args))], finish: 'tool_calls' });
    t.match(completion, {
      calls: [{ id: 'c', name: 'find', arguments: JSON.stringify(args) }],
      failovers: [],
    });
  }
  t.match(await answerTo({ text: ['{"arguments":{', `"x":1}} ${text}`] }), {
    heard: `{"arguments":{"x":1}} ${text}`,
  });
});

t.test(
  'an answer of nothing is followed by the next model, and is a failure where none is left',
  async (t) => {
    const blanks = [' \n ', '\n\n', '\u00a0\t', '\u3000'];
    const kinds: Readonly<Record<string, ModelReply>> = {
      nothing: {},
      'an empty content': { text: [''] },
      ...Object.fromEntries(blanks.map((blank) => [JSON.stringify(blank), { text: [blank] }])),
      'blanks in pieces': { text: [' ', '\n', ' '] },
      'reasoning alone': { chunks: [delta({ reasoning_content: 'Hm.' })] },
      'reasoning under the other name': { chunks: [delta({ reasoning: 'Hm.' })] },
      'reasoning as a part of the content': {
        chunks: [delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] })],
      },
      'reasoning and blanks': { chunks: [delta({ reasoning_content: 'Hm.' })], text: ['\n\n'] },
      'reasoning that was cut': { chunks: [delta({ reasoning_content: 'Hm.' })], finish: 'length' },
      'a block of reasoning': { text: '<think>Hm.</think>' },
      'a block, then blanks': { text: ['<think>Hm.</think>', '\n\n'] },
      'a block without an end': { text: '<think>Hm. The customer wants' },
      'a block that only begins': { text: ['\n', '<think>'] },
      'a block that was cut': { text: '<think>Hm.</thi', finish: 'length' },
      'two blocks': { text: '<think>Hm.</think>\n<think>So.</think>' },
    };
    for (const [what, reply] of Object.entries(kinds)) {
      const { heard, completion } = await answerTo(reply, 'All is well.');
      t.equal(heard, 'All is well.', what);
      t.match(completion, { text: 'All is well.', failovers: [{ model: 'first', reason: 'empty' }] }, what);
      const alone = await answerTo(reply).catch((error: unknown) => error);
      if (!(alone instanceof ModelError)) throw new Error(`${what} is an answer`);
      t.equal(alone.reason, 'empty', what);
      t.equal(alone.message, 'No model answered. The last one: The model answered without a text.');
    }
  },
);

t.test('reasoning at the beginning of a text is left out, however it is cut', async (t) => {
  for (const [written, shown] of [
    ['<think>Hm.\n\nSo.</think>\n\nAll is well.', 'All is well.'],
    ['\n<think>\nHm.\n</think>All is well.', 'All is well.'],
    ['<think></think>All is well.', 'All is well.'],
    ['<think>a < b</thin></think>All <think>is</think> well.', 'All <think>is</think> well.'],
    ['<think>Hm.</think> <think>So.</think> All is well.', 'All is well.'],
    ['Write <think> first.', 'Write <think> first.'],
    ['<thinking about it>', '<thinking about it>'],
    ['<thi', '<thi'],
    ['  All is well.', '  All is well.'],
  ] as const) {
    for (const size of [1, 3, 7, written.length]) {
      const text = written.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
      const { heard, completion } = await answerTo({ text });
      t.equal(heard, shown, `in pieces of ${size}`);
      t.equal(completion.text, shown);
    }
  }
  const calls = [{ name: 'find', arguments: {} }];
  const { heard, completion } = await answerTo({ text: '<think>I look it up.</think>\n', calls });
  t.equal(heard, '', 'also before a call');
  t.match(completion, { text: '', calls: [{ name: 'find' }] });
});

function delta(fields: object) {
  return { choices: [{ index: 0, delta: fields, finish_reason: null }] };
}

/** Returns what a reader receives and the whole answer. `next`: the answer of a second model. */
async function answerTo(reply: ModelReply, next?: string) {
  models.reply(reply, 'first');
  if (next !== undefined) models.reply(next, 'second');
  const names = next === undefined ? ['first'] : ['first', 'second'];
  const chains = { high: names.map((name) => models.choice(name)) };
  const tiers = new ModelTiers({ openaiApiKey: null, anthropicApiKey: null, chains });
  const pieces: string[] = [];
  const listener: TurnListener = {
    onText: (text) => void pieces.push(text),
    onFailover: () => {},
  };
  const chain = tiers.chainFor({ tier: 'high' }, 'chat');
  const completion = await chain.complete(PROMPT, listener, new AbortController().signal);
  return { heard: pieces.join(''), completion };
}
