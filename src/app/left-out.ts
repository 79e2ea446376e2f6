import type { Database } from '../platform/db/connection/database.ts';
import { statement } from '../platform/db/connection/statement.ts';
import type { TopicHandler } from '../platform/db/queue/topic.ts';
import type { Logger } from '../platform/log.ts';

/**
 * The outbox topics and job tasks that features handle, by name, because the folder of a feature
 * that is left out cannot be asked. Topics in neither list are of a later version, whose nodes
 * handle them.
 */
export const TOPICS_OF_FEATURES: readonly string[] = [
  'addresses.confirmation_due',
  'agent_runs.approval',
  'agent_runs.due',
  'agent_runs.ended',
  'mail.received',
  'messages.email_due',
  'platform_events.raised',
  'questions.ended',
];
export const TASKS_OF_FEATURES: readonly string[] = [
  'finish_redaction',
  'mail.answer_unread',
  'visitor_claimed',
];
/** The settings by which triggers know that a node has their feature. */
export const SETTINGS_OF_FEATURES: readonly string[] = ['feature_search_entries'];

/** Adds handlers for names that have none: they drop the rows, with one log line each. */
export function withDropped(
  handlers: readonly TopicHandler[],
  names: readonly string[],
  log: Logger,
): TopicHandler[] {
  const handled = new Set(handlers.map(({ topic }) => topic));
  const dropped = names.filter((name) => !handled.has(name));
  const logged = new Set<string>();
  const drop = (topic: string): TopicHandler => ({
    topic,
    async run() {
      if (logged.has(topic)) return;
      logged.add(topic);
      log.warn({ topic }, 'rows of a topic are dropped: this build is without the feature that handles them');
    },
  });
  return [...handlers, ...dropped.map(drop)];
}

/**
 * Writes into `settings` which features with triggers this node has; called at the start and every
 * minute. Its triggers fire as long as any node has it: a feature counts as left out when no node
 * has reported it for three minutes (DECISIONS.md#what-is-left-out-is-said-in-settings).
 */
export async function noteFeatures(database: Database): Promise<void> {
  for (const name of SETTINGS_OF_FEATURES) {
    await database.query(database.hooks.all('setting').includes(name) ? NOTE_THERE : NOTE_LEFT_OUT, name);
  }
}

const NOTE_THERE = statement<[setting: string]>('note-feature-there')`
    INSERT INTO settings (name, value) VALUES ($1, 'there')
    ON CONFLICT (name) DO UPDATE SET value = 'there', created_at = clock_timestamp()`;

// A node that has the feature may be starting, so a new row first says that it is there.
const NOTE_LEFT_OUT = statement<[setting: string]>('note-feature-left-out')`
    INSERT INTO settings AS s (name, value) VALUES ($1, 'there')
    ON CONFLICT (name) DO UPDATE SET value = 'left out'
      WHERE s.value <> 'left out' AND s.created_at < clock_timestamp() - interval '3 min'`;
