import { ApiError } from '@parley/protocol/errors/errors.ts';
import {
  type AnswerTime,
  type CreateWidgetBody,
  type UpdateWidgetBody,
  Widget,
  WidgetPublic,
  type WidgetTexts,
  type WidgetTextsInput,
} from '@parley/protocol/resources/widget.ts';
import { WIDGET_LANGUAGES } from '@parley/protocol/resources/widget-languages.ts';
import { isTimezone } from '@parley/protocol/schema/formats.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import { standingAt } from './hours.ts';
import { readSites } from './sites.ts';
import type { OfferedWidget, WidgetRow } from './widget-store.ts';

export function presentWidget(row: WidgetRow): Widget {
  return presentAs(Widget, { ...row, ...shownOf(row) });
}

interface Offer {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly answersIn: AnswerTime | null;
  /** Whether this server does. */
  readonly sendsMail: boolean;
}

/** Returns the widget for visitors. */
export function presentPublic(row: OfferedWidget, { nowMs, answersIn, sendsMail }: Offer): WidgetPublic {
  return presentAs(WidgetPublic, {
    id: row.id,
    account_id: row.account_id,
    sites: row.sites,
    persona: { name: row.persona_name ?? '', avatar_url: row.persona_avatar_url },
    ...shownOf(row),
    ...standingAt(row.hours, nowMs),
    team: (row.team ?? []).map(({ name, avatar_url }) => ({ name: firstName(name), avatar_url })),
    answers_in: answersIn,
    identifies: row.identity_provider_id !== null,
    confirms_addresses: sendsMail,
    mails_answers: sendsMail && row.inbox_id !== null,
  });
}

/** Checks the parts of a body that need no database. Throws ApiError. */
export function checkWidget({ sites, hours }: Pick<UpdateWidgetBody, 'sites' | 'hours'>): void {
  if (sites !== undefined) readSites(sites);
  if (hours && !isTimezone(hours.timezone)) {
    const message = 'Must be the name of an IANA timezone, such as Europe/Berlin.';
    throw new ApiError('invalid_format', message, { param: 'hours.timezone' });
  }
}

/** Returns the columns that a body sets. */
export function columnsOf(body: CreateWidgetBody | UpdateWidgetBody) {
  const { name, sites, group_id, hours, texts, colors, identity_provider_id, show_team, enabled, inbox_id } =
    body;
  return {
    ...(name !== undefined && { name }),
    ...(sites !== undefined && { sites: readSites(sites) }),
    ...(group_id !== undefined && { group_id }),
    ...(hours !== undefined && { hours: hours && JSON.stringify(hours) }),
    ...(texts !== undefined && { texts: JSON.stringify(texts ?? {}) }),
    ...(colors !== undefined && { colors: JSON.stringify(colors ?? {}) }),
    ...(identity_provider_id !== undefined && { identity_provider_id }),
    ...(show_team !== undefined && { show_team }),
    ...(enabled !== undefined && { enabled }),
    ...(inbox_id !== undefined && { inbox_id }),
  };
}

function firstName(name: string): string {
  return name.trim().split(/\s+/)[0]!;
}

function shownOf({ texts, colors }: Pick<WidgetRow, 'texts' | 'colors'>) {
  const { light = null, dark = null } = colors;
  return { texts: textsOf(texts), colors: { light, dark } };
}

function textsOf(texts: WidgetTextsInput): WidgetTexts {
  const shown = WIDGET_LANGUAGES.map((language) => {
    const { greeting, offline } = texts[language] ?? {};
    return [language, { greeting: greeting || null, offline: offline || null }] as const;
  });
  return Object.fromEntries(shown) as unknown as WidgetTexts;
}
