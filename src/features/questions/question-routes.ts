import { AnswerQuestionBody } from '@parley/protocol/resources/question.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { OF_MESSAGE } from '../../core/messages/reading/message-routes.ts';
import { readableMessage } from '../../core/messages/rules/readable-message.ts';
import { expandMessage } from '../../core/resources/expanded-message.ts';
import { checkAnswerBody } from './answer-rules.ts';
import { answerQuestion, withdrawQuestion } from './questions.ts';

export function questionRoutes({
  database,
  directory,
  store,
}: Pick<NodeParts, 'database' | 'directory' | 'store'>): Route[] {
  return [
    // Agents are refused, because a question waits for people.
    defineRoute({
      name: 'answer_question',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/answer',
      summary: 'Answer the question of a message',
      since: '1.5.harbor-preview.1',
      permission: 'messaging:create',
      customers: true,
      agents: false,
      ...OF_MESSAGE,
      body: AnswerQuestionBody,
      rules: ({ body }) => checkAnswerBody(body),
      prepare: ({ principal, params }) => readableMessage({ database, directory }, principal, params.id!),
      async change(tx, { principal, query, body }, found) {
        const answered = await answerQuestion(tx, principal, found, body);
        return expandMessage(tx, store, principal, answered, query['include[]']);
      },
    }),
    defineRoute({
      name: 'withdraw_question',
      method: 'POST',
      path: '/v1/messaging/messages/:id/actions/withdraw',
      summary: 'Take back the question of a message',
      since: '1.5.harbor-preview.1',
      permission: 'messaging:update',
      own: { permission: 'messaging:create', of: 'your own messages' },
      // Customers may read the message.
      reachesOutside: () => true,
      ...OF_MESSAGE,
      prepare: ({ principal, params }) => readableMessage({ database, directory }, principal, params.id!),
      async change(tx, { principal, query }, found) {
        const withdrawn = await withdrawQuestion(tx, principal, found);
        return expandMessage(tx, store, principal, withdrawn, query['include[]']);
      },
    }),
  ];
}
