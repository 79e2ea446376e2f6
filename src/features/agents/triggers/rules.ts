import { ApiError, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import { isOwnType } from '@parley/protocol/event-areas.ts';
import type { TriggerConfigInput, TriggerType } from '@parley/protocol/resources/agent-definition.ts';
import { isTimezone } from '@parley/protocol/schema/formats.ts';
import { TRIGGER_EVENTS } from '@parley/protocol/trigger-events.ts';
import { type CronSchedule, nextDue } from './cron.ts';

/** The stored trigger of an agent; null for agents that are started by hand or by a chat. */
export type StoredTrigger = CronSchedule | { readonly event_filters: readonly string[] };

/**
 * Checks `config.trigger_config` by the trigger type (docs/contract.md#creating-an-agent). Throws
 * ApiError `missing_field`, `invalid_format` (a malformed or never due schedule, an unknown
 * timezone) or `validation_failed` (a field of another trigger type, an event never raised).
 */
export function readTrigger(type: TriggerType, input: TriggerConfigInput = {}): StoredTrigger | null {
  const allowed: readonly string[] = FIELDS[type];
  for (const field of Object.keys(input)) {
    if (allowed.includes(field)) continue;
    throw invalid(`${AT}.${field}`, `An agent with the trigger ${type} has no such setting.`);
  }
  if (type === 'scheduled') return readSchedule(input);
  if (type === 'event') return { event_filters: readFilters(input) };
  return null;
}

const AT = 'config.trigger_config';

const FIELDS = {
  scheduled: ['cron_schedule', 'timezone'],
  event: ['event_filters'],
  manual: [],
  chat: [],
} as const satisfies Record<TriggerType, readonly (keyof TriggerConfigInput)[]>;

/**
 * Checks `config.trigger_config` without the trigger type: settings of two types, and settings that
 * no type accepts. Throws like readTrigger.
 */
export function checkTriggerConfig(input: TriggerConfigInput): void {
  const { cron_schedule, timezone, event_filters } = input;
  const isScheduled = cron_schedule !== undefined || timezone !== undefined;
  if (isScheduled) readSchedule(input);
  if (event_filters === undefined) return;
  if (isScheduled) throw invalid(`${AT}.event_filters`, 'An agent has either a schedule or event filters.');
  readFilters(input);
}

function readSchedule({ cron_schedule, timezone = 'UTC' }: TriggerConfigInput): StoredTrigger {
  if (cron_schedule === undefined) throw missing('cron_schedule');
  if (!isTimezone(timezone)) {
    throw malformed('timezone', 'Must be an IANA timezone such as Europe/Berlin.');
  }
  if (!everComes(cron_schedule, timezone)) {
    throw malformed(
      'cron_schedule',
      'Must be a cron expression of five fields with at least one future date.',
    );
  }
  return { cron_schedule, timezone };
}

function readFilters({ event_filters: filters }: TriggerConfigInput): readonly string[] {
  if (filters === undefined) throw missing('event_filters');
  for (const [index, filter] of filters.entries()) {
    const param = `${AT}.event_filters[${index}]`;
    if (!isOwnType(filter) || OWN.has(filter)) continue;
    throw invalid(param, `Of its own events, Parley starts agents by these: ${[...OWN].join(', ')}.`);
  }
  return filters;
}

const OWN: ReadonlySet<string> = new Set(TRIGGER_EVENTS);

function everComes(cron_schedule: string, timezone: string): boolean {
  // The library accepts @daily and similar nicknames instead of five fields.
  if (cron_schedule.trim().split(/\s+/).length !== 5) return false;
  try {
    return nextDue({ cron_schedule, timezone }, new Date()) !== null;
  } catch {
    return false;
  }
}

function malformed(field: string, message: string): ApiError {
  return new ApiError('invalid_format', message, { param: `${AT}.${field}` });
}

function missing(field: string): ApiError {
  return missingField(`${AT}.${field}`, 'This field is required for this trigger type.');
}
