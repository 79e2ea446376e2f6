import type { QuestionStatus } from '../resources/question.ts';
import type { Transitions } from './transitions.ts';

/**
 * The changes of the status of a question (docs/contract.md#questions). `none`: there is none yet.
 */
export const QUESTION_MOVES = {
  ask: { from: ['none'], to: 'open', when: 'Send Message with a question' },
  answer: { from: ['open'], to: 'answered', when: 'Answer Question, once' },
  withdraw: {
    from: ['open'],
    to: 'withdrawn',
    when: 'Withdraw Question, or its message or conversation is deleted, or the run that asked ends',
  },
  expire: { from: ['open'], to: 'expired', when: 'it was not answered by its end' },
} as const satisfies Transitions<QuestionStatus | 'none'>;
