import type { Redis } from 'ioredis';
import type { Addition, NumberRequest, Tally } from '../engine.ts';
import { redisName } from '../partitions.ts';
import { isRefusal } from './redis-connection.ts';

/** Scripts that Redis runs as one step, over one connection. */
export class RedisScripts {
  readonly #commands: Redis;
  readonly #isOfCluster: boolean;

  constructor(commands: Redis, isOfCluster: boolean) {
    this.#commands = commands;
    this.#isOfCluster = isOfCluster;
  }

  /** Resolves with the moment at which Redis took the messages, in microseconds of its clock. */
  async publish(names: readonly string[], messages: readonly Buffer[]): Promise<number> {
    return microseconds((await this.#run(PUBLISH, names, messages)) as [string, string]);
  }

  async reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]> {
    const keys = claims.map(({ stream }) => redisName('seq', stream));
    const amounts = claims.flatMap((claim) => [claim.count, claim.floor ?? '']);
    return (await this.#run(RESERVE, keys, amounts)) as (number | null)[];
  }

  async tally(additions: readonly Addition[]): Promise<Tally[]> {
    const keys = additions.map(({ key }) => redisName('tally', key));
    const amounts = additions.flatMap(({ by, window = '', take, windowMs }) => [
      by,
      window,
      take?.most ?? 0,
      take?.limit ?? 0,
      Math.ceil(windowMs),
    ]);
    const answer = await this.#run(TALLY, keys, amounts);
    const rows = answer as [total: number, taken: number, window: number, leftMs: number][];
    return rows.map(([total, taken, window, leftMs]) => ({ total, taken, window, leftMs }));
  }

  /**
   * Rejects if the user lacks a right that the other scripts need: nodes would run without them.
   */
  async rehearse(id: string): Promise<void> {
    const names = [redisName('seq', id), redisName('tally', id), redisName('ch', id)];
    await this.#run(REHEARSAL, names, []).catch((error) => {
      if (isRefusal(error)) throw error;
    });
  }

  #run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    if (!this.#isOfCluster) return this.#commands.eval(script, keys.length, ...keys, ...args);
    return this.#commands.eval(ACROSS_SLOTS + script, 0, keys.length, ...keys, ...args);
  }
}

/** Runs a script over batches of items, side by side. */
export async function inScripts<Item, Answer>(
  items: readonly Item[],
  run: (some: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const answers: Promise<readonly Answer[]>[] = [];
  for (let start = 0; start < items.length; start += MAX_PER_SCRIPT) {
    answers.push(run(items.slice(start, start + MAX_PER_SCRIPT)));
  }
  return (await Promise.all(answers)).flat();
}

/** 256 frames keep Redis busy for about half a millisecond; other commands wait that long. */
const MAX_PER_SCRIPT = 256;

/** Converts the answer of TIME: seconds, and microseconds within the second. */
export function microseconds([seconds, rest]: readonly (string | number)[]): number {
  return Number(seconds) * 1_000_000 + Number(rest);
}

/**
 * In a cluster, declared keys must be of one slot, and a declared channel whose slot is being moved
 * is refused, although SPUBLISH takes it. So all names are arguments, behind their number. Redis
 * checks each command of the script by itself: the server must have its slot.
 */
const ACROSS_SLOTS = `#!lua flags=allow-cross-slot-keys
local given, count = ARGV, tonumber(ARGV[1])
local KEYS, ARGV = {}, {}
for i = 2, count + 1 do KEYS[i - 1] = given[i] end
for i = count + 2, #given do ARGV[i - count - 1] = given[i] end
`;

/**
 * Publishes frames. It is a script, not a pipeline: ioredis spends 12 µs on every command, this 2
 * µs on every frame (measured, 64 frames of 450 bytes). It is sent whole each time, because EVALSHA
 * after a SCRIPT FLUSH would have to be sent again, after frames that came later. Returns when it
 * ran (TIME), or the refusal of a frame, which holds up no other frame.
 */
const PUBLISH = `
local refused
for i = 1, #KEYS do
  local answer = redis.pcall('SPUBLISH', KEYS[i], ARGV[i])
  if type(answer) == 'table' then refused = answer end
end
return refused or redis.call('TIME')`;

/** Calls what the other scripts call. KEYS: two unused keys, and a channel without listeners. */
const REHEARSAL = `
for i = 1, 2 do
  redis.call('SET', KEYS[i], 0)
  redis.call('INCRBY', KEYS[i], 0)
  redis.call('PEXPIRE', KEYS[i], 1000)
  for _, name in ipairs({ 'GET', 'PEXPIRETIME', 'PTTL', 'DEL' }) do redis.call(name, KEYS[i]) end
end
redis.call('SPUBLISH', KEYS[3], '')
return redis.call('TIME')`;

/**
 * Adds to windows. KEYS: the windows. ARGV, five for each: the addition, the window to which it
 * belongs ('' for any), how many to take at most, the limit for that, and the length of a new
 * window. Returns for each the total, how many were taken, when the window ends, which identifies
 * it, and the milliseconds until then.
 */
const TALLY = `
local tallies = {}
for i = 1, #KEYS do
  local key, at = KEYS[i], 5 * (i - 1)
  local by, window, most, limit = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local ends = redis.call('PEXPIRETIME', key)
  if window ~= '' and tonumber(window) ~= ends then by = 0 end
  local total = redis.call('INCRBY', key, by)
  local taken = math.max(0, math.min(most, limit - total))
  if taken > 0 then total = redis.call('INCRBY', key, taken) end
  if ends < 0 then
    redis.call('PEXPIRE', key, ARGV[at + 5])
    ends = redis.call('PEXPIRETIME', key)
  end
  tallies[i] = { total, taken, ends, redis.call('PTTL', key) }
end
return tallies`;

/**
 * Takes numbers. KEYS: counters. ARGV, two for each: count and floor ('' for none). Returns the
 * first number of each, or nil. Numbers are exact below 2^53; a counter beyond it, or one that is
 * not a whole number, was set by hand and counts as absent.
 */
const RESERVE = `
local first = {}
for i = 1, #KEYS do
  local count, floor = ARGV[2 * i - 1], ARGV[2 * i]
  local held = redis.pcall('GET', KEYS[i])
  local number = type(held) == 'string' and (held == '0' or string.find(held, '^[1-9]%d*$')) and tonumber(held)
  if number and number + count > 9007199254740991 then number = false end
  if not number and floor == '' then
    if held then redis.call('DEL', KEYS[i]) end
    first[i] = false
  else
    if not number or (floor ~= '' and number < tonumber(floor)) then redis.call('SET', KEYS[i], floor) end
    first[i] = redis.call('INCRBY', KEYS[i], count) - count + 1
  end
end
return first`;
