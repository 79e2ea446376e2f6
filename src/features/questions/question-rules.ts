import { invalid, missingField, repeated } from '@parley/protocol/errors/errors.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { QUESTION_LIMITS, type Question, type QuestionInput } from '@parley/protocol/resources/question.ts';
import { QUESTION_MOVES } from '@parley/protocol/states/question-states.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { ConversationFacts } from '../../core/conversations/directory/directory.ts';
import type { ComposedQuestion } from '../../core/messages/rules/questions.ts';

type FieldInput = NonNullable<QuestionInput['fields']>[number];
type OptionInput = NonNullable<QuestionInput['options']>[number];

/**
 * Checks what a question states, by itself and beside the other fields of the message
 * (docs/contract.md#questions). Throws ApiError.
 */
export function checkQuestion({ question, mode, scheduled_at, audience }: SendMessageBody): void {
  if (question === undefined) return;
  if (mode === 'draft') throw invalid('question', 'A draft cannot ask. Send the question, or leave it out.');
  if (scheduled_at !== undefined) throw invalid('question', 'A scheduled message cannot ask. Send it now.');
  checkParts(question);
  const { answerable_by, actor_ids } = question;
  if (answerable_by === 'actors' && actor_ids === undefined) throw missingField('question.actor_ids');
  if (answerable_by !== undefined && answerable_by !== 'actors' && actor_ids !== undefined) {
    throw invalid('question.actor_ids', 'Only answerable_by actors names actors.');
  }
  if (answerable_by === 'customer' && audience !== 'customer') {
    throw invalid('question.answerable_by', 'The customer reads only messages with the audience customer.');
  }
  if (Buffer.byteLength(JSON.stringify(question)) <= QUESTION_LIMITS.bytes) return;
  throw invalid('question', `Must have at most ${QUESTION_LIMITS.bytes} bytes as JSON.`);
}

function checkParts({ type, options, fields }: QuestionInput): void {
  if (type === 'form') {
    if (options !== undefined) throw invalid('question.options', 'A form has fields instead of options.');
    if (fields === undefined) throw missingField('question.fields');
    requireDifferent(fields, 'name', 'question.fields');
    for (const [index, field] of fields.entries()) checkField(field, `question.fields[${index}]`);
    return;
  }
  if (fields !== undefined) throw invalid('question.fields', 'Only a form has fields.');
  if (options === undefined) throw missingField('question.options');
  requireDifferent(options, 'value', 'question.options');
}

function checkField(field: FieldInput, param: string): void {
  for (const [name, of] of Object.entries(OF_TYPE)) {
    if (field[name as keyof typeof OF_TYPE] === undefined || field.type === of) continue;
    throw invalid(`${param}.${name}`, `Only a field of the type ${of} has it.`);
  }
  const { type, options, minimum, maximum } = field;
  if (type === 'select' && options === undefined) throw missingField(`${param}.options`);
  if (options !== undefined) requireDifferent(options, 'value', `${param}.options`);
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    throw invalid(`${param}.maximum`, 'Must not be below minimum.');
  }
}

/** The fields that only one type of field has. */
const OF_TYPE = { options: 'select', minimum: 'number', maximum: 'number', max_length: 'text' } as const;

function requireDifferent<Key extends string>(
  items: readonly Readonly<Record<Key, string>>[],
  key: Key,
  param: string,
): void {
  const known = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (known.has(item[key])) throw repeated(`${param}[${index}].${key}`);
    known.add(item[key]);
  }
}

/** Throws ApiError `validation_failed` for an actor that could not answer. */
export function composeQuestion(
  { actor }: Principal,
  { members }: ConversationFacts,
  { question, audience }: SendMessageBody,
): ComposedQuestion {
  const { text, type, options, fields, actor_ids: ids, expires_at: end } = question!;
  for (const [index, id] of (ids ?? []).entries()) {
    const member = members.get(id);
    const param = `question.actor_ids[${index}]`;
    if (member === undefined || member.deactivated || member.type === 'agent' || member.role === 'viewer') {
      throw invalid(param, 'Must be a person that takes part in the conversation and is not its viewer.');
    }
    if (id === actor.id) throw invalid(param, 'The author of a question cannot answer it.');
    if (member.type === 'customer' && audience !== 'customer') {
      throw invalid(param, 'The customer reads only messages with the audience customer.');
    }
  }
  const composed: Question = {
    type,
    text,
    options: options?.map(shownOption) ?? null,
    fields: fields?.map(shownField) ?? null,
    answerable_by: question!.answerable_by ?? (ids === undefined ? 'readers' : 'actors'),
    actor_ids: ids === undefined ? null : [...ids],
    revision: 1,
    status: QUESTION_MOVES.ask.to,
    expires_at: wireTime(end === undefined ? Date.now() + DEFAULT_MS : Date.parse(end)),
    ended_at: null,
    answer: null,
  };
  const mentions = (ids ?? []).filter((id) => members.get(id)?.type !== 'customer');
  return { question: composed, body: plainText(composed), mentions };
}

const DEFAULT_MS = QUESTION_LIMITS.defaultHours * 60 * 60 * 1_000;

function shownOption({ value, label = value }: OptionInput) {
  return { value, label };
}

function shownField({ name, type, label = name, required = false, ...bounds }: FieldInput) {
  return {
    name,
    type,
    label,
    required,
    options: bounds.options?.map(shownOption) ?? null,
    minimum: bounds.minimum ?? null,
    maximum: bounds.maximum ?? null,
    max_length: type === 'text' ? (bounds.max_length ?? QUESTION_LIMITS.answerCharacters) : null,
  };
}

/** Returns the question as mail, and clients that know no questions, show it. */
function plainText({ text, options, fields }: Question): string {
  const choices = options?.map(({ label }) => label);
  const asked = fields?.map(({ label, options: of }) =>
    of === null ? label : `${label}: ${of.map((one) => one.label).join(' / ')}`,
  );
  return `${text}\n\n${(choices ?? asked ?? []).map((line) => `- ${line}`).join('\n')}`;
}
