import type { SearchFilter } from '@parley/client';
import type { SearchPlace } from '../nav/place.ts';

/** Returns the filter of a search for messages. Days are whole, in the zone of the browser. */
export function filterOf({ in: conversation, by, after, before, has }: SearchPlace): SearchFilter {
  const from = startOf(after, 0);
  const until = startOf(before, 1);
  return {
    type: 'messages',
    include: ['conversation', 'sender'],
    ...(conversation !== undefined && { conversation_id: conversation }),
    ...(by !== undefined && { author_id: by }),
    ...(from !== undefined && { after: from }),
    ...(until !== undefined && { before: until }),
    ...(has === 'file' && { has }),
  };
}

/** Returns the beginning of a day (`2026-11-26`), or of a day that is some days later. */
function startOf(day: string | undefined, later: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  if (year === undefined) return undefined;
  const at = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return at.toISOString();
}
