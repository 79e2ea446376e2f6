import { COMMANDS } from '@parley/protocol/socket/commands.ts';
import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import { EVENTS, type EventName } from '@parley/protocol/socket/events.ts';
import { SERVER_FRAMES, type ServerFrameType } from '@parley/protocol/socket/server-frames.ts';
import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import { CLIENT_PATH } from '../client-package.ts';
import type { Document } from '../documents.ts';
import { FRAME_SUMMARIES } from '../openapi/asyncapi.ts';
import { code, type Html, html, prose, table } from './html.ts';
import { markdownPage } from './page.ts';

/** Returns the socket's page for people; machines read /v1/asyncapi.json. */
export function socketPage(): Promise<Document> {
  const requests = Object.entries(COMMANDS).map(([op, { summary, fields, result }]) => [
    code(op),
    fieldsOf(fields),
    result === null ? html`<span class="nothing">another frame</span>` : fieldsOf(result),
    prose(summary),
  ]);
  const frames = (Object.keys(SERVER_FRAMES) as ServerFrameType[]).map((type) => {
    const { type: _, ...fields } = SERVER_FRAMES[type].properties;
    return [code(type), fieldsOf(fields), prose(FRAME_SUMMARIES[type])];
  });
  const events = (Object.keys(EVENTS) as EventName[]).map((event) => [
    code(event),
    yesOrNo(EVENTS[event].order !== 'ephemeral'),
    yesOrNo(EVENTS[event].customers),
    html`${EVENTS[event].stream === 'actor' ? 'the own feed' : 'a subscription'}`,
    code(EVENTS[event].since),
    prose(EVENT_DATA[event].summary),
  ]);
  return markdownPage('socket', {
    ...SOCKET_LIMITS,
    clientPath: CLIENT_PATH,
    requests: table(['type', 'Fields', 'Result', 'What it does'], requests),
    frames: table(['type', 'Fields', 'What it says'], frames),
    events: table(['event', 'Durable', 'Customers', 'Comes with', 'Since', 'What it says'], events),
  });
}

function fieldsOf(fields: Readonly<Record<string, object>>): Html {
  const names = Object.entries(fields).map(([name, schema]) => code(isOptional(schema) ? `${name}?` : name));
  return names.length === 0 ? html`<span class="nothing">none</span>` : html`${names}`;
}

/** Reads typebox's mark. */
function isOptional(schema: object): boolean {
  return '~optional' in schema;
}

function yesOrNo(value: boolean): Html {
  return html`${value ? 'yes' : 'no'}`;
}
