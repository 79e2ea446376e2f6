import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Menu, type MenuProps } from '@parley/ui/overlays/menu.tsx';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { AssignDialog } from './assign-dialog.tsx';
import { type RowAction, rowActions } from './row-actions.ts';

type OpenMenu = Omit<MenuProps, 'onClose'>;

/** The person's actions on conversations, with the menus and dialogs that they open. */
export interface Actions {
  /** Returns the actions on a conversation; their menus stand beside `anchor`. */
  readonly actionsOn: (conversation: Conversation, anchor: HTMLElement) => RowAction[];
  readonly showMenu: (menu: OpenMenu) => void;
  /** The open menu or dialog, to stand anywhere in the component. */
  readonly overlays: ComponentChildren;
}

/** Offers the actions on conversations, in the list and in the head of an open one. */
export function useActions(): Actions {
  const { client, me, can } = useSignedIn();
  const [menu, showMenu] = useState<OpenMenu | null>(null);
  const [assigning, setAssigning] = useState<Conversation | null>(null);
  return {
    actionsOn: (conversation, anchor) =>
      rowActions(conversation, {
        client,
        myId: me.actor.id,
        can,
        isAdmin: me.role?.type === 'admin',
        onAssign: setAssigning,
        onTimes: (items, label) => showMenu({ anchor, label, items }),
      }),
    showMenu,
    overlays: (
      <>
        {menu !== null && <Menu key={menu.label} {...menu} onClose={() => showMenu(null)} />}
        {assigning !== null && <AssignDialog conversation={assigning} onClose={() => setAssigning(null)} />}
      </>
    ),
  };
}
