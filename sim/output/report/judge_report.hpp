// The report of the command `judge`: a measured speed or log compared with the expected one.
#pragma once

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/calibration/judgement.hpp"

namespace allreplay {

JsonValue judgement_json(const Judgement& judgement);
const View& judgement_view();

JsonValue log_judgement_json(const LogJudgement& judgement);
const View& log_judgement_view();

}  // namespace allreplay
