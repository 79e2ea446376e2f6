import {
  Question,
  QuestionAnswer,
  QuestionField,
  QuestionOption,
} from '@parley/protocol/resources/question.ts';
import { presentAs } from './present-as.ts';

type Option = NonNullable<Question['options']>[number];

/** Returns a question as the team sees it. Postgres keeps no order of the fields in jsonb. */
export function presentQuestion(question: Question): Question {
  const { options, fields, answer } = question;
  return presentAs(Question, {
    ...question,
    options: options && presentOptions(options),
    fields:
      fields?.map((field) =>
        presentAs(QuestionField, { ...field, options: field.options && presentOptions(field.options) }),
      ) ?? null,
    answer: answer && presentAs(QuestionAnswer, answer),
  });
}

function presentOptions(options: readonly Option[]): Option[] {
  return options.map((option) => presentAs(QuestionOption, option));
}

/** Returns a question without the people that may answer it, or did, where they may be the team. */
export function questionForCustomer(question: Question): Question {
  const { answer, answerable_by } = question;
  const isOfCustomer = answerable_by === 'customer';
  return {
    ...question,
    actor_ids: null,
    answer: answer && { ...answer, by: isOfCustomer ? answer.by : null },
  };
}
