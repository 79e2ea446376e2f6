/** Returns the names that only Slack uses, with their emojis. gemoji has all others. */
export function slackEmoji(): readonly (readonly [name: string, emoji: string])[] {
  return [...NAMES.matchAll(/(\S+) (\S+)/g)].map(([, name, emoji]) => [name!, emoji!]);
}

/** Names and emojis by turns; without U+FE0F, which `toEmoji` adds. */
const NAMES = `
admission_tickets 🎟 airplane_arriving 🛬 airplane_departure 🛫 application 🈸
badminton_racquet_and_shuttlecock 🏸 bald_person 🧑‍🦲 ballot_box_with_ballot 🗳 barely_sunny 🌥
beach_with_umbrella 🏖 biohazard_sign ☣ black_circle_for_record ⏺
black_left_pointing_double_triangle_with_vertical_bar ⏮
black_right_pointing_double_triangle_with_vertical_bar ⏭
black_right_pointing_triangle_with_double_vertical_bar ⏯ black_square_for_stop ⏹ bride_with_veil 👰
briefs 🩲 camera_with_flash 📸 cheese_wedge 🧀 compression 🗜 cricket_bat_and_ball 🏏
curly_haired_person 🧑‍🦱 dagger_knife 🗡 derelict_house_building 🏚 discount 🈹 double_vertical_bar ⏸
dove_of_peace 🕊 drum_with_drumsticks 🥁 eject ⏏ email ✉ eye-in-speech-bubble 👁‍🗨 face_palm 🤦
face_vomiting 🤮 face_with_cowboy_hat 🤠 face_with_hand_over_mouth 🤭 face_with_monocle 🧐
face_with_raised_eyebrow 🤨 face_with_rolling_eyes 🙄 face_with_symbols_on_mouth 🤬 female-doctor 👩‍⚕
female-guard 💂‍♀ female-police-officer 👮‍♀ fencer 🤺 field_hockey_stick_and_ball 🏑 film_frames 🎞
first_place_medal 🥇 frame_with_picture 🖼 free_of_charge 🈚 giraffe_face 🦒 glass_of_milk 🥛 golfer 🏌
guardsman 💂 handball 🤾 heavy_heart_exclamation_mark_ornament ❣ helmet_with_white_cross ⛑
house_buildings 🏘 hugging_face 🤗 i_love_you_hand_sign 🤟 ice_hockey_stick_and_puck 🏒 juggling 🤹
keycap_star *⃣ kiwifruit 🥝 knife_fork_plate 🍽 ladybug 🐞 large_blue_square 🟦 large_brown_circle 🟤
large_brown_square 🟫 large_green_circle 🟢 large_green_square 🟩 large_orange_circle 🟠
large_orange_square 🟧 large_purple_circle 🟣 large_purple_square 🟪 large_red_square 🟥
large_yellow_circle 🟡 large_yellow_square 🟨 left-facing_fist 🤛 lightning 🌩 linked_paperclips 🖇
lion_face 🦁 lower_left_ballpoint_pen 🖊 lower_left_crayon 🖍 lower_left_fountain_pen 🖋
lower_left_paintbrush 🖌 male-doctor 👨‍⚕ male-guard 💂‍♂ male-police-officer 👮‍♂ man-gesturing-no 🙅‍♂
man-gesturing-ok 🙆‍♂ man-getting-haircut 💇‍♂ man-getting-massage 💆‍♂ man-heart-man 👨‍❤‍👨 man-kiss-man 👨‍❤‍💋‍👨
man-lifting-weights 🏋‍♂ man-rowing-boat 🚣‍♂ man-wearing-turban 👳‍♂ man-wrestling 🤼‍♂
man_and_woman_holding_hands 👫 man_in_business_suit_levitating 🕴 man_in_lotus_position 🧘‍♂
man_in_steamy_room 🧖‍♂ man_with_beard 🧔‍♂ man_with_turban 👳 mate_drink 🧉 medal 🎖
men-with-bunny-ears-partying 👯‍♂ menorah_with_nine_branches 🕎 month 🈷 mostly_sunny 🌤 no_vacancy 🈵
not_free_of_charge 🈶 octagonal_sign 🛑 ok_woman 🙆 om_symbol 🕉 open_for_business 🈺
partly_sunny_rain 🌦 passing_grade 🈴 person_climbing 🧗 person_doing_cartwheel 🤸 person_frowning 🙍
person_in_lotus_position 🧘 person_in_steamy_room 🧖 person_with_ball ⛹ person_with_blond_hair 👱
person_with_headscarf 🧕 person_with_pouting_face 🙎 prohibited 🈲 racing_motorcycle 🏍
radioactive_sign ☢ rain_cloud 🌧 red_haired_person 🧑‍🦰 reserved 🈯 right-facing_fist 🤜 robot_face 🤖
rolled_up_newspaper 🗞 rolling_on_the_floor_laughing 🤣 satellite 🛰 satellite_antenna 📡 scales ⚖
scooter 🛴 second_place_medal 🥈 shopping_bags 🛍 shopping_trolley 🛒 skin-tone-2 🏻 skin-tone-3 🏼
skin-tone-4 🏽 skin-tone-5 🏾 skin-tone-6 🏿 sleeping_accommodation 🛌 sleuth_or_spy 🕵
smiling_face_with_3_hearts 🥰 snow_capped_mountain 🏔 snow_cloud 🌨 snowman ☃ snowman_without_snow ⛄
speaking_head_in_silhouette 🗣 spiral_calendar_pad 🗓 spiral_note_pad 🗒 spock-hand 🖖 sports_medal 🏅
table_tennis_paddle_and_ball 🏓 the_horns 🤘 thinking_face 🤔 third_place_medal 🥉
three_button_mouse 🖱 thunder_cloud_and_rain ⛈ umbrella ☂ umbrella_on_ground ⛱
umbrella_with_rain_drops ☔ unicorn_face 🦄 vacancy 🈳 waving_black_flag 🏴 waving_white_flag 🏳
weight_lifter 🏋 white_frowning_face ☹ white_haired_person 🧑‍🦳 wind_blowing_face 🌬
woman-gesturing-no 🙅‍♀ woman-gesturing-ok 🙆‍♀ woman-getting-haircut 💇‍♀ woman-getting-massage 💆‍♀
woman-heart-man 👩‍❤‍👨 woman-heart-woman 👩‍❤‍👩 woman-kiss-man 👩‍❤‍💋‍👨 woman-kiss-woman 👩‍❤‍💋‍👩 woman-lifting-weights 🏋‍♀
woman-rowing-boat 🚣‍♀ woman-wearing-turban 👳‍♀ woman-wrestling 🤼‍♀ woman_in_lotus_position 🧘‍♀
woman_in_steamy_room 🧖‍♀ woman_with_beard 🧔‍♀ womans_flat_shoe 🥿 women-with-bunny-ears-partying 👯‍♀
wrestlers 🤼 zebra_face 🦓
`;
