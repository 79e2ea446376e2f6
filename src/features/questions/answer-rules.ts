import { ApiError, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import type {
  AnswerQuestionBody,
  AnswerValues,
  Question,
  QuestionField,
} from '@parley/protocol/resources/question.ts';
import type { Principal } from '../../api/access/principal.ts';
import { requireUnblocked, requireWriter } from '../../core/conversations/directory/access.ts';
import type { Readable } from '../../core/messages/rules/readable-message.ts';

/**
 * Requires that a reader of the message may answer its question (docs/contract.md#questions).
 * Throws ApiError `insufficient_permissions`.
 */
export function requireAnswerer(
  { actor, customer }: Principal,
  { row, facts }: Readable,
  { answerable_by: by, actor_ids: ids }: Question,
): void {
  if (row.author_id === actor.id) throw refused('The author of a question cannot answer it.');
  if (by === 'team' && customer) throw refused('Only the team can answer this question.');
  if (by === 'customer' && !customer) throw refused('Only the customer can answer this question.');
  if (by === 'actors' && !ids?.includes(actor.id)) throw refused('This question is for others to answer.');
  requireWriter(facts.members.get(actor.id));
}

/** Requires also that the caller may still write here. */
export function requireOpenPlace(principal: Principal, { facts }: Readable): void {
  requireUnblocked(principal, facts);
}

function refused(message: string): ApiError {
  return new ApiError('insufficient_permissions', message);
}

/** Checks what depends on the body alone. Throws ApiError `validation_failed`. */
export function checkAnswerBody({ option, values }: AnswerQuestionBody): void {
  if (option === undefined || values === undefined) return;
  throw invalid('values', 'An answer has either an option or the values of a form.');
}

/** The answer without its author, as the question asks for it. */
export interface CheckedAnswer {
  readonly option: string | null;
  readonly values: AnswerValues | null;
}

/** Throws ApiError for what the question did not ask for. */
export function checkAnswer(
  { options, fields }: Pick<Question, 'options' | 'fields'>,
  { option, values }: AnswerQuestionBody,
): CheckedAnswer {
  if (fields === null) {
    if (values !== undefined) throw invalid('values', 'Only a form has values. Send option.');
    if (option === undefined) throw missingField('option');
    if (options?.every(({ value }) => value !== option)) throw invalid('option', NO_OPTION);
    return { option, values: null };
  }
  if (option !== undefined) throw invalid('option', 'A form has no options. Send values.');
  if (values === undefined) throw missingField('values');
  const foreign = Object.keys(values).find((name) => fields.every((field) => field.name !== name));
  if (foreign !== undefined) throw invalid(`values.${foreign}`, 'The form has no such field.');
  return {
    option: null,
    values: Object.fromEntries(fields.flatMap((field) => answeredValue(field, values))),
  };
}

const NO_OPTION = 'Must be the value of one of the options.';

function answeredValue(field: QuestionField, values: AnswerValues): [string, string | number | boolean][] {
  const { name, type, required, options, minimum, maximum, max_length: most } = field;
  const param = `values.${name}`;
  const value = values[name];
  const isAbsent = value === undefined || (typeof value === 'string' && value.trim() === '');
  if (isAbsent && (value === undefined || type === 'text' || type === 'select')) {
    if (required) throw missingField(param);
    return [];
  }
  const expected = JSON_TYPES[type];
  if (typeof value !== expected) {
    throw new ApiError('invalid_format', `Must be a ${expected}.`, { param });
  }
  if (typeof value === 'number') {
    if (minimum !== null && value < minimum) throw invalid(param, `Must be at least ${minimum}.`);
    if (maximum !== null && value > maximum) throw invalid(param, `Must be at most ${maximum}.`);
  }
  if (most !== null && typeof value === 'string' && value.length > most) {
    throw invalid(param, `Must have at most ${most} characters.`);
  }
  if (options?.every((option) => option.value !== value)) throw invalid(param, NO_OPTION);
  return [[name, value as string | number | boolean]];
}

const JSON_TYPES = { text: 'string', number: 'number', boolean: 'boolean', select: 'string' } as const;
