/**
 * SQL: whether the message `m` of a case is an answer that a customer has not read: one of the team
 * to customers, whole, behind the number `seen`. `reader` and `seen` are expressions. Events such
 * as a resolution are no answers.
 */
export function isUnreadAnswer(m: string, reader: string, seen: string): string {
  return `${m}.sequence > ${seen} AND ${m}.status = 'sent' AND ${m}.visibility = 'external'
        AND ${m}.deleted_at IS NULL AND ${m}.imported IS NULL AND ${m}.author_id IS DISTINCT FROM ${reader}
        AND ${m}.streaming_state IS DISTINCT FROM 'streaming'`;
}
